import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import ts from 'typescript';

/** What belongs to one kind only: files by their names, and its entry in the contract. */
const NAMES: Readonly<Record<string, RegExp>> = {
  user: /^user[-.]/,
  group: /^group[-.]/,
  serviceaccount: /^service-?account[-.]/,
  policy: /^policy[-.]/,
  domain: /^domain[-.]/,
};
const ENTRIES: Readonly<Record<string, string>> = {
  user: 'USER',
  group: 'GROUP',
  serviceaccount: 'SERVICE_ACCOUNT',
  policy: 'POLICY',
  domain: 'DOMAIN',
};

const MOST_LINES = 12;

/** A group of Kafka's consumers is no kind. The verbs of `svc` are still listed a kind in `src/cli/commands`. */
const APART = /^src\/(event-log|cli\/commands)\//;
const files = globSync('src/**/*.ts').filter((file) => !APART.test(file));

function sourcesOf(kind: string): string[] {
  const own = files.filter((file) => NAMES[kind]?.test(basename(file))).map((file) => readFileSync(file, 'utf8'));
  const contract = readFileSync('src/contract/kinds.ts', 'utf8');
  const [entry] =
    new RegExp(`const ${ENTRIES[kind]} = \\{.*?\\n\\} as const satisfies Kind;`, 's').exec(contract) ?? [];
  if (entry === undefined) throw new Error(`the contract has no entry of ${kind}`);
  return [...own, entry];
}

/** The shape of each line that has code: names are alike, and so are strings and numbers. Comments do not count. */
function shapesOf(source: string): string[] {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const lines = new Map<number, string[]>();
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    if (node.kind === ts.SyntaxKind.EndOfFileToken || node.getWidth(file) === 0) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    lines.set(line, [...(lines.get(line) ?? []), shapeOf(node)]);
  };
  visit(file);
  return [...lines].sort(([one], [other]) => one - other).map(([, tokens]) => tokens.join(' '));
}

function shapeOf(token: ts.Node): string {
  if (ts.isIdentifier(token)) return 'name';
  if (ts.isStringLiteralLike(token) || ts.isTemplateLiteralToken(token)) return 'string';
  return ts.isNumericLiteral(token) ? 'number' : String(token.kind);
}

/** The longest run of lines of the same shape in both, as its length and its end in the first. */
function longestRun(one: readonly string[], other: readonly string[]): { length: number; end: number } {
  let longest = { length: 0, end: 0 };
  let before: number[] = [];
  for (const [at, shape] of one.entries()) {
    const runs = other.map((another, index) => (another === shape ? (before[index - 1] ?? 0) + 1 : 0));
    const length = Math.max(0, ...runs);
    if (length > longest.length) longest = { length, end: at };
    before = runs;
  }
  return longest;
}

const KINDS = Object.keys(NAMES);
const shapes = new Map(KINDS.map((kind) => [kind, sourcesOf(kind).map(shapesOf)]));
const pairs = KINDS.flatMap((one, index) => KINDS.slice(index + 1).map((other) => [one, other] as const));

it.each(pairs)('%s and %s share no run of more than 12 lines of the same shape', (one, other) => {
  const runs = (shapes.get(one) ?? []).flatMap((first) =>
    (shapes.get(other) ?? []).map((second) => {
      const { length, end } = longestRun(first, second);
      return { length, shapes: first.slice(end - length + 1, end + 1) };
    }),
  );
  expect(runs.filter(({ length }) => length > MOST_LINES)).toEqual([]);
});

it('counts names, strings and numbers as alike, and nothing else', () => {
  const lines = (source: string) => shapesOf(source);
  expect(lines("const a = f('x', 1);")).toEqual(lines('const group = members(`y`, 200); // what'));
  expect(lines('const a = 1;')).not.toEqual(lines('let a = 1;'));
  const [head, ...body] = ['function f(a) {', '  g(a);', '  return h(a);', '}'];
  const other = ['if (x) {', ...body];
  expect(longestRun(lines([head, ...body].join('\n')), lines(other.join('\n')))).toEqual({ length: 3, end: 3 });
});
