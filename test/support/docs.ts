import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A code block of a document, as a module of its own. */
export interface Block {
  /** Line of its fence, from 1. */
  readonly line: number;
  /** The block at its own line numbers: every other line of the document is empty. */
  readonly text: string;
}

/**
 * Finds the TypeScript blocks of a Markdown document. What a block takes for granted (`app`, `planOf`) stands before its fence
 * in a comment that begins with a line `<!-- given` and ends with a line `-->`: readers do not see it, the compiler does.
 */
export function blocksOf(markdown: string): Block[] {
  const lines = markdown.split(/\r?\n/);
  const blocks: Block[] = [];
  let given: number[] = [];
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] as string).trim();
    const isGiven = line === '<!-- given';
    const fence = /^(```+)(\w*)/.exec(line);
    if (!isGiven && !fence) {
      if (line !== '') given = [];
      continue;
    }
    const begin = at + 1;
    const end = isGiven ? '-->' : (fence?.[1] as string);
    for (at = begin; at < lines.length && lines[at]?.trim() !== end; ) at++;
    const inside = Array.from({ length: at - begin }, (_, offset) => begin + offset);
    if (isGiven) given = inside;
    else {
      const kept = new Set([...given, ...inside]);
      const text = lines.map((text, index) => (kept.has(index) ? text : '')).join('\n');
      if (fence?.[2] === 'ts' || fence?.[2] === 'typescript') blocks.push({ line: begin, text: `${text}\nexport {};\n` });
      given = [];
    }
  }
  return blocks;
}

/** Compiles blocks against the sources, which the paths of tsconfig.json put in the package's place. @returns one `name:line message` for each error */
export function compileErrors(blocks: readonly Block[], name: string): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const compilerOptions = { ...config.compilerOptions, noUnusedLocals: false, noUnusedParameters: false };
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, ROOT);
  const virtual = new Map(blocks.map(({ line, text }) => [`${ROOT}/${name}.${line}.ts`, text]));

  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => virtual.has(path) || fileExists(path);
  host.readFile = (path) => virtual.get(path) ?? readFile(path);
  host.getSourceFile = (path, languageVersion, ...rest) => {
    const text = virtual.get(path);
    return text === undefined
      ? getSourceFile(path, languageVersion, ...rest)
      : ts.createSourceFile(path, text, languageVersion, true);
  };

  // Faults of the sources themselves are the type check's to report.
  return ts
    .getPreEmitDiagnostics(ts.createProgram([...virtual.keys()], options, host))
    .filter(({ file }) => !file || virtual.has(file.fileName))
    .map(({ file, start = 0, messageText }) => ({
      line: file ? file.getLineAndCharacterOfPosition(start).line + 1 : 0,
      message: ts.flattenDiagnosticMessageText(messageText, '\n'),
    }))
    .sort((one, other) => one.line - other.line)
    .map(({ line, message }) => `${name}:${line} ${message}`);
}

/** Every property with a `@defaultValue` in a source text: its name and the value, read as a literal where it is one. */
export function documentedDefaults(source: string): { readonly name: string; readonly value: unknown }[] {
  const found: { name: string; value: unknown }[] = [];
  const see = (node: ts.Node): void => {
    if (ts.isPropertySignature(node)) {
      const tag = ts.getJSDocTags(node).find(({ tagName }) => tagName.text === 'defaultValue');
      const text = tag && ts.getTextOfJSDocComment(tag.comment)?.trim();
      if (text) found.push({ name: node.name.getText(), value: literal(text.replace(/^`(.*)`$/s, '$1')) });
    }
    ts.forEachChild(node, see);
  };
  see(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true));
  return found;
}

function literal(text: string): unknown {
  if (/^'.*'$/.test(text)) return text.slice(1, -1);
  if (/^(true|false)$/.test(text)) return text === 'true';
  return /^\d[\d_]*(\.\d+)?$/.test(text) ? Number(text.replaceAll('_', '')) : text;
}
