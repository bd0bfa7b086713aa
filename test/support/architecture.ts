import { posix } from 'node:path';
import ts from 'typescript';

/** Files by their path from the root of the repository, with forward slashes. */
export type Sources = ReadonlyMap<string, string>;

export interface Violation {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
}

interface Import {
  readonly from: string;
  readonly line: number;
  /** As written. */
  readonly specifier: string;
  /** The file it means when the specifier is relative. */
  readonly target: string | undefined;
  readonly typeOnly: boolean;
}

interface Module {
  readonly path: string;
  readonly ast: ts.SourceFile;
  readonly imports: readonly Import[];
}

const FRAMEWORKS = ['express', 'koa', 'fastify', 'hono', 'next', '@nestjs/common'];

/** One library, one place: a file, or a folder when it ends in a slash. */
const THIRD_PARTY: Readonly<Record<string, readonly string[]>> = {
  'js-tiktoken': ['src/tokens/tokenizer.ts', 'src/tokens/vocabularies.ts'],
  'lru-cache': ['src/cache/bounded-map.ts'],
  'body-parser': ['src/http/'],
};

const INTERFACE_FILES = ['src/stores/store.ts', 'src/dialects/dialect.ts', 'src/ladder/step.ts', 'src/clock.ts', 'src/call.ts'];

/** Folders of implementations that must not know each other, and the interface they implement. */
const FAMILIES = [
  { folder: 'src/ladder/', type: 'Step' },
  { folder: 'src/dialects/', type: 'Dialect' },
  { folder: 'src/stores/', type: 'Store' },
];

const TIMER_MODULES = ['timers', 'timers/promises', 'perf_hooks'];
const TIMERS = ['setTimeout', 'setInterval', 'performance'];

/** Everything that breaks the directions of dependency, in the order of the files. */
export function violations(sources: Sources): Violation[] {
  const modules = [...sources].map(([path, text]) => parse(path, text));
  const core = modules.filter(({ path }) => path.startsWith('src/'));
  const adapters = modules.filter(({ path }) => path.startsWith('adapters/'));
  return [
    ...core.flatMap(coreImports),
    ...core.flatMap(siblings(core)),
    ...core.flatMap(interfaces),
    ...core.flatMap(timeAndChance),
    ...core.flatMap(ports),
    ...core.flatMap(starExports),
    ...cycles(core),
    ...adapters.flatMap(adapterImports),
  ];
}

function coreImports(module: Module): Violation[] {
  return module.imports.flatMap((imported) => {
    if (imported.target !== undefined) {
      if (!imported.target.startsWith('src/')) return at(imported, `the core imports nothing outside src: ${imported.specifier}`);
      return imported.specifier.endsWith('.js') ? [] : at(imported, `a relative import ends in .js: ${imported.specifier}`);
    }
    const library = packageOf(imported.specifier);
    if (library === undefined) return [];
    if (FRAMEWORKS.includes(library)) return at(imported, `the core knows no framework: ${library}`);
    const homes = Object.hasOwn(THIRD_PARTY, library) ? (THIRD_PARTY[library] as readonly string[]) : [];
    const isHome = homes.some((home) => (home.endsWith('/') ? module.path.startsWith(home) : module.path === home));
    return isHome
      ? []
      : at(imported, `${library} is imported ${homes.length > 0 ? `only by ${homes.join(', ')}` : 'nowhere in the core'}`);
  });
}

function adapterImports(module: Module): Violation[] {
  const framework = posix.basename(module.path, '.ts');
  return module.imports.flatMap((imported) => {
    const { target, specifier, typeOnly } = imported;
    if (target !== undefined) {
      const isAllowed = target === 'src/index.ts' || target.startsWith('src/http/');
      return isAllowed ? [] : at(imported, `an adapter imports only src/index.ts and src/http: ${specifier}`);
    }
    const library = packageOf(specifier);
    if (library === undefined) return [];
    if (library !== framework)
      return at(imported, `adapter ${framework} imports no library but types of ${framework}: ${library}`);
    return typeOnly ? [] : at(imported, `an adapter imports only types of its framework: ${library}`);
  });
}

function siblings(core: readonly Module[]): (module: Module) => Violation[] {
  const families = new Map(
    core.map(({ path, ast }) => [
      path,
      FAMILIES.find(({ folder, type }) => path.startsWith(folder) && implementsType(ast, type)),
    ]),
  );
  return (module) => {
    const family = families.get(module.path);
    if (!family) return [];
    return module.imports
      .filter(({ target }) => target !== undefined && families.get(target) === family)
      .flatMap((imported) => at(imported, `one ${family.type} does not import another: ${imported.specifier}`));
  };
}

/** Whether a file gives the world a thing of this type: as a value, from a function, as a class or as a wider interface. */
function implementsType(ast: ts.SourceFile, name: string): boolean {
  const isIt = (node: ts.Node | undefined): boolean =>
    node !== undefined &&
    ((ts.isTypeReferenceNode(node) && node.typeName.getText() === name) ||
      (ts.isExpressionWithTypeArguments(node) && node.expression.getText() === name) ||
      (ts.isIntersectionTypeNode(node) && node.types.some(isIt)));
  return ast.statements.some((node) => {
    if (ts.isFunctionDeclaration(node)) return isIt(node.type);
    if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node))
      return node.heritageClauses?.some(({ types }) => types.some(isIt)) === true;
    if (!ts.isVariableStatement(node)) return false;
    return node.declarationList.declarations.some(({ type, initializer }) => {
      if (initializer && ts.isArrowFunction(initializer)) return isIt(initializer.type);
      return isIt(type) || (initializer !== undefined && ts.isSatisfiesExpression(initializer) && isIt(initializer.type));
    });
  });
}

function interfaces(module: Module): Violation[] {
  if (!INTERFACE_FILES.includes(module.path)) return [];
  return module.imports
    .filter(({ typeOnly }) => !typeOnly)
    .flatMap((imported) => at(imported, `a file of interfaces imports only types: ${imported.specifier}`));
}

function timeAndChance(module: Module): Violation[] {
  const found: Violation[] = [];
  const report = (node: ts.Node, what: string, home: string) => {
    if (module.path !== home) found.push({ file: module.path, line: lineOf(node), rule: `${what} is used only by ${home}` });
  };
  for (const imported of module.imports)
    if (TIMER_MODULES.includes(imported.specifier.replace(/^node:/, '')) && module.path !== 'src/clock.ts')
      found.push(...at(imported, `${imported.specifier} is used only by src/clock.ts`));

  visit(module.ast, (node) => {
    if (ts.isPropertyAccessExpression(node)) {
      const written = node.getText().replace(/^globalThis\./, '');
      if (written === 'Math.random') report(node, written, 'src/options.ts');
      if (written === 'AbortSignal.timeout' || written === 'process.hrtime') report(node, written, 'src/clock.ts');
      if (node.expression.getText() === 'globalThis' && TIMERS.includes(node.name.text)) report(node, written, 'src/clock.ts');
    }
    if (!ts.isIdentifier(node) || !isValue(node)) return;
    if (TIMERS.includes(node.text)) report(node, node.text, 'src/clock.ts');
    if (node.text === 'Date' && !isTimelessDate(node)) report(node, 'the current Date', 'src/clock.ts');
  });
  return found;
}

function ports(module: Module): Violation[] {
  const found: Violation[] = [];
  visit(module.ast, (node) => {
    const isServer = ts.isIdentifier(node) && node.text === 'createServer';
    const isListening =
      ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'listen';
    if (isServer || isListening) found.push({ file: module.path, line: lineOf(node), rule: 'the core opens no port' });
  });
  return found;
}

function starExports(module: Module): Violation[] {
  if (module.path !== 'src/index.ts') return [];
  return module.ast.statements
    .filter((node) => ts.isExportDeclaration(node) && !(node.exportClause && ts.isNamedExports(node.exportClause)))
    .map((node) => ({ file: module.path, line: lineOf(node), rule: 'public names are listed one by one' }));
}

/** One violation for each cycle of imports that exist at run time, told at the import that closes it. */
function cycles(core: readonly Module[]): Violation[] {
  const byPath = new Map(core.map((module) => [module.path, module]));
  const done = new Set<string>();
  const found: Violation[] = [];

  function walk(module: Module, trail: readonly string[]): void {
    for (const imported of module.imports) {
      const next = imported.typeOnly || imported.target === undefined ? undefined : byPath.get(imported.target);
      if (!next) continue;
      const begin = trail.indexOf(next.path);
      if (begin >= 0) found.push(...at(imported, `imports form a cycle: ${[...trail.slice(begin), next.path].join(' -> ')}`));
      else if (!done.has(next.path)) walk(next, [...trail, next.path]);
    }
    done.add(module.path);
  }

  for (const module of core) if (!done.has(module.path)) walk(module, [module.path]);
  return found;
}

function parse(path: string, text: string): Module {
  const ast = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return;
    const isRelative = specifier.text.startsWith('.');
    const target = isRelative ? posix.join(posix.dirname(path), specifier.text).replace(/\.js$/, '.ts') : undefined;
    imports.push({ from: path, line: lineOf(node), specifier: specifier.text, target, typeOnly });
  };

  visit(ast, (node) => {
    if (ts.isImportDeclaration(node)) {
      // `import { type A }` still loads the module when its text is kept verbatim: only `import type` counts.
      add(node, node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly);
    } else if (
      ts.isCallExpression(node) &&
      (node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === 'require')
    ) {
      add(node, node.arguments[0], false);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true);
    }
  });
  return { path, ast, imports };
}

/** Name of the package that a bare specifier means; `undefined` for Node's own modules. */
function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('node:')) return undefined;
  const parts = specifier.split('/');
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0];
}

/** Whether an identifier stands for a value: not a type, not the name of a property or of something declared here. */
function isValue(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isTypeNode(parent) || ts.isQualifiedName(parent) || ts.isTypeQueryNode(parent)) return false;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  return !('name' in parent && parent.name === node) && !('propertyName' in parent && parent.propertyName === node);
}

/** `new Date(x)`, `Date.UTC`, `Date.parse` and `instanceof Date` read no clock. */
function isTimelessDate(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isNewExpression(parent)) return (parent.arguments?.length ?? 0) > 0;
  if (ts.isPropertyAccessExpression(parent)) return ['UTC', 'parse', 'prototype'].includes(parent.name.text);
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword;
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node);
  ts.forEachChild(node, (child) => visit(child, see));
}

function lineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1;
}

function at({ from, line }: Import, rule: string): Violation[] {
  return [{ file: from, line, rule }];
}
