// Texts to count, written anew for each round: the same seed makes the same ones.
import { pick, type Random } from '../test/support/random-texts.js';

export type MakeText = (random: Random, length: number) => string;

const words = (list: string): readonly string[] => list.split(' ');

const COMMON = words(
  'the of and to in a is that it was for on are with as at be this have from or had by not but what all were when we there can an which their if will each about how up out them then she many some so these would other into has more two like him see time could no make than first been its who now people my made over did down only way find use may water long little very after just where most know get through back much before go good new our me man too any day same right look think also around another came come work three must because does part even place well such here take why help put years different away again off went old number great tell say small every found still between name should home big give air set own under read last never us left end along while might next sound below saw something thought both few those always looked show large often together asked house world going want school important until form food keep children feet land side without once',
);
const STEMS = words(
  'account analys answer balanc budget calcul cancel carri collect compar complet consider control counter deliver depend design develop discuss distribut estimat examin expect explor extend forecast gather generat govern handl identif improv inform install invest librar maintain manag measur model monitor negotiat observ operat optim organ perform plann predict prepar produc protect provid publish record reduc regulat releas report request research reserv restor schedul select separat settl simulat suppl transform translat turbin validat verif visit',
);
const SUFFIXES = words('ed ing er ers ation ations es ment able ive ively ity al ally or ion');
const SYLLABLES = words('ka lo mi ren tor vel an dri sho bel qui zan ost har fen ula wex im pra nod');

function repeat(random: Random, least: number, most: number, make: () => string, separator = ''): string {
  return Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, make).join(separator);
}
const title = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const digits = (random: Random, most: number): string => String(Math.floor(random() * 10 ** (1 + Math.floor(random() * most))));
const name = (random: Random): string => title(repeat(random, 2, 3, () => pick(random, SYLLABLES)));

function englishWord(random: Random): string {
  const kind = random();
  if (kind < 0.72) return pick(random, COMMON);
  if (kind < 0.95) return pick(random, STEMS) + pick(random, SUFFIXES);
  return kind < 0.98 ? name(random) : digits(random, 5);
}

const english: MakeText = (random) => {
  const sentence = title(repeat(random, 5, 22, () => englishWord(random), ' ').replaceAll(/(\w+ \w+ \w+ \w+ \w+) /g, '$1, '));
  return `${sentence}${pick(random, ['.', '.', '.', '?', '!', ':', '."'])}${pick(random, [' ', ' ', ' ', '\n\n'])}`;
};

const identifier = (random: Random): string =>
  pick(random, STEMS) + repeat(random, 0, 2, () => title(pick(random, [...COMMON.slice(0, 60), ...SUFFIXES])));

const code: MakeText = (random) => {
  const [a, b, c] = [identifier(random), identifier(random), identifier(random)];
  const depth = '  '.repeat(Math.floor(random() * 4));
  return pick(random, [
    `${depth}const ${a} = await ${b}.${c}({ ${identifier(random)}: ${digits(random, 4)} });\n`,
    `${depth}if (${a} === undefined || ${b}.length > ${digits(random, 3)}) return ${c}(${a}, '${englishWord(random)}');\n`,
    `\n${depth}// ${repeat(random, 4, 10, () => englishWord(random), ' ')}.\n`,
    `${depth}for (const ${a} of ${b}) ${c}.set(${a}.${identifier(random)}, ${a});\n${depth}}\n`,
    `def ${a.toLowerCase()}_${b.toLowerCase()}(self, ${c}: int = ${digits(random, 2)}) -> str:\n    return f"{self.${a}}/{${c}!r}"\n`,
  ]);
};

const json: MakeText = (random) =>
  `${JSON.stringify(
    {
      id: `${pick(random, STEMS)}_${Math.floor(random() * 2 ** 40).toString(16)}`,
      [identifier(random)]: Math.round(random() * 1e6) / 100,
      [identifier(random)]: random() < 0.5,
      title: repeat(random, 2, 8, () => englishWord(random), ' '),
      tags: Array.from({ length: 3 }, () => pick(random, STEMS)),
      at: `20${10 + Math.floor(random() * 20)}-0${1 + Math.floor(random() * 9)}-1${Math.floor(random() * 10)}T1${Math.floor(random() * 10)}:00:00Z`,
      [identifier(random)]: { [identifier(random)]: digits(random, 8), [identifier(random)]: null },
    },
    null,
    random() < 0.3 ? 2 : 0,
  )},\n`;

const HAN =
  '的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严';
const hanWord = (random: Random): string => repeat(random, 1, 3, () => pick(random, [...HAN]));

const chinese: MakeText = (random) =>
  repeat(random, 2, 5, () => repeat(random, 3, 8, () => hanWord(random)), '，') +
  pick(random, ['。', '。', '？', '！', '；', '。\n']);

const KANA = [
  ...'あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをんがぎぐげござじずぜだでどばびぶべぼ',
];
const KATAKANA = [
  ...'アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワンガギグゲゴダデドバビブベボー',
];
const PARTICLES = words('は が を に で と の も から まで より へ です ます した して いる ある ない こと もの ため');

const japanese: MakeText = (random) => {
  const word = () =>
    pick(random, [
      hanWord(random),
      hanWord(random) + pick(random, KANA),
      repeat(random, 2, 5, () => pick(random, KATAKANA)),
      repeat(random, 2, 4, () => pick(random, KANA)),
    ]) + pick(random, PARTICLES);
  return repeat(random, 3, 9, word, random() < 0.3 ? '、' : '') + pick(random, ['。', '。', '。\n', '！']);
};

const RUSSIAN_STEMS = words(
  'вод рек город работ дом стран книг слов голос мир вопрос ответ систем расчёт бюджет запрос модел уровн поток дожд осен ветер инженер плотин наблюд измер прогноз решен площад дорог учител истор врем человек дел жизн рук друг земл лиц слуш говор смотр дума чита пиш строи движ хран',
);
const RUSSIAN_ENDINGS = words(
  'а у ы ой ам ами ах ов е и ный ного ному ным ная ной ные ных ать ал ала али ает ают ение ения ением ость ости',
);
const RUSSIAN_COMMON = words(
  'и в не на я что он с как это по но они мы из у за вы так же от для когда уже бы только или если до чтобы без при после',
);

const russian: MakeText = (random) => {
  const word = () =>
    random() < 0.35 ? pick(random, RUSSIAN_COMMON) : pick(random, RUSSIAN_STEMS) + pick(random, RUSSIAN_ENDINGS);
  return `${title(repeat(random, 4, 14, word, ' '))}${pick(random, [', ', '. ', '. ', '? ', '.\n'])}`;
};

const EMOJI_JOINED = ['👩‍💻', '👨‍👩‍👧', '🏳️‍🌈', '👍🏽', '❤️', '🤷‍♀️', '1️⃣', '🇫🇷', '🇯🇵'];
const emoji: MakeText = (random) =>
  repeat(random, 1, 5, () =>
    random() < 0.2 ? pick(random, EMOJI_JOINED) : String.fromCodePoint(0x1f300 + Math.floor(random() * 0x350)),
  ) + pick(random, [' ', ' ', ` ${pick(random, COMMON)} `, '\n']);

const BASE64 = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'];
const base64: MakeText = (random) => repeat(random, 76, 76, () => pick(random, BASE64));

/** About `length` UTF-16 units, as engines make of what was parsed: in one stretch, not joined on demand. */
const long =
  (part: MakeText): MakeText =>
  (random, length) => {
    const parts: string[] = [];
    for (let written = 0; written < length; ) {
      const text = part(random, length);
      parts.push(text);
      written += text.length;
    }
    return flat(parts.join(''));
  };

/** The same text with nothing remembered about it, like one that was just parsed. */
export const flat = (text: string): string => JSON.parse(JSON.stringify(text)) as string;

export const TEXTS: Readonly<Record<string, MakeText>> = {
  English: long(english),
  code: long(code),
  JSON: long(json),
  Chinese: long(chinese),
  Japanese: long(japanese),
  Russian: long(russian),
  emoji: long(emoji),
  base64: long(base64),
};

const anyOf = (characters: string): MakeText => {
  const all = [...characters];
  return long((random) => pick(random, all));
};
const between = (first: number, last: number): MakeText =>
  long((random) => String.fromCodePoint(first + Math.floor(random() * (last - first + 1))));

/** Texts that are made to take long. */
export const HOSTILE: Readonly<Record<string, MakeText>> = {
  'one letter': anyOf('a'),
  spaces: anyOf(' '),
  'line breaks': anyOf('\n'),
  'one Han character': anyOf('漢'),
  'any Han characters': between(0x4e00, 0x9fff),
  'rare Han characters': between(0x20000, 0x2a6df),
  'small letters': anyOf('abcdefghijklmnopqrstuvwxyz'),
  punctuation: anyOf('!@#$%^&*()_+{}[]|:;<>,.?~`'),
  'one emoji': anyOf('😀'),
  emoji: between(0x1f300, 0x1f5ff),
  base64: long(base64),
  digits: anyOf('0123456789'),
  'bytes as Latin-1': between(0, 0xff),
  'combining marks': between(0x300, 0x36f),
  'lone surrogates': anyOf('\ud800'),
  'any unit': long((random) => String.fromCharCode(Math.floor(random() * 0x10000))),
};
