// Writes the option tables of README.md from the types, so that each option is documented once.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TABLE = /<!-- table: (\S+) ([\w ]+?) -->\n[\s\S]*?<!-- \/table -->/g;

/** README text with every marked table made anew from the sources. */
export function withTables(readme: string): string {
  return readme.replace(TABLE, (_, file: string, names: string) => {
    const rows = names.split(' ').flatMap((name) => rowsOf(join(ROOT, file), name));
    return [
      `<!-- table: ${file} ${names} -->`,
      '| Option | Default | Meaning |',
      '| --- | --- | --- |',
      ...rows,
      '<!-- /table -->',
    ].join('\n');
  });
}

function rowsOf(file: string, name: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found = source.statements.find(
    (node): node is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(node) && node.name.text === name,
  );
  if (!found) throw new Error(`${file} has no interface ${name}`);
  return found.members.filter(ts.isPropertySignature).map((member) => rowOf(member, source));
}

function rowOf(member: ts.PropertySignature, source: ts.SourceFile): string {
  const doc = ts.getJSDocCommentsAndTags(member).find(ts.isJSDoc);
  const meaning = clean(ts.getTextOfJSDocComment(doc?.comment) ?? '');
  const tag = doc?.tags?.find(({ tagName }) => tagName.text === 'defaultValue');
  const given = clean(ts.getTextOfJSDocComment(tag?.comment) ?? '');
  const isRequired = member.questionToken === undefined;
  const byDefault =
    given === '' ? (isRequired ? 'required' : '') : given.includes('`') || /\s/.test(given) ? given : `\`${given}\``;
  return `| \`${member.name.getText(source)}\` | ${byDefault} | ${meaning} |`;
}

function clean(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll('|', '\\|')
    .trim();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = join(ROOT, 'README.md');
  writeFileSync(path, withTables(readFileSync(path, 'utf8')));
}
