import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

/** Deeper than the service takes anything. */
const DEEPEST = 64;

const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;

/** A text that is not YAML, or says what JSON cannot. */
export class YamlFault extends Error {
  override readonly name = 'YamlFault';

  constructor(
    message: string,
    /** Counted from 1. */
    readonly line?: number,
  ) {
    super(message);
  }
}

/**
 * The JSON text of a YAML 1.2 document: keys in their order, numbers digit for digit. Throws `YamlFault` also for what
 * would have to be altered to become JSON, for a key that stands twice, and for aliases: a few lines of them can stand
 * for more than any memory holds.
 */
export function fromYaml(text: string): string {
  refuseDeep(text);
  const lines = new LineCounter();
  // Keys that stand twice are found by the reader: the parser would compare each with all others.
  const options = { lineCounter: lines, schema: 'core', uniqueKeys: false } as const;
  const document = parseDocument(text, options);
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) {
    const message = fault.code === 'RESOURCE_EXHAUSTION' ? 'is nested too deep' : firstLine(fault.message);
    throw new YamlFault(message, fault.linePos?.[0].line);
  }
  return new Reader(lines).node(document.contents, 0);
}

/** What the lexer puts before the text of a plain scalar. */
const SCALAR = '\u001f';

/** The parser takes memory and stack for each level: what is too deep must not reach it. */
function refuseDeep(text: string): void {
  let brackets = 0;
  let indicators = 0;
  let isScalar = false;
  for (const lexeme of new Lexer().lex(text)) {
    if (isScalar) isScalar = false;
    else if (lexeme === SCALAR) isScalar = true;
    else if (lexeme === '[' || lexeme === '{') brackets++;
    else if (lexeme === ']' || lexeme === '}') brackets--;
    else if (lexeme.startsWith('\n')) indicators = 0;
    // Outside of brackets each of these opens a level on the same line.
    else if (brackets <= 0 && ['-', '?', ':'].includes(lexeme)) indicators++;
    if (brackets > DEEPEST || indicators > DEEPEST) throw new YamlFault('is nested too deep');
  }
}

const firstLine = (message: string): string => message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? '';

class Reader {
  constructor(readonly lines: LineCounter) {}

  node(node: Node | null, depth: number): string {
    if (node === null) return 'null';
    if (depth > DEEPEST) throw this.#fault(node, 'is nested too deep');
    if (isAlias(node)) throw this.#fault(node, `write out what the alias *${node.source} stands for`);
    if (isMap(node)) return this.#map(node as YAMLMap<ParsedNode, ParsedNode | null>, depth);
    if (isSeq(node)) return this.#list(node as YAMLSeq<ParsedNode>, depth);
    if (!isScalar(node)) throw this.#fault(node, 'cannot be read');
    const { value, source = '' } = node;
    if (typeof value === 'number' || typeof value === 'bigint') {
      if (JSON_NUMBER.test(source)) return source;
      throw this.#fault(node, `write the number ${source} as JSON does, or quote it`);
    }
    return JSON.stringify(value ?? null);
  }

  #map(map: YAMLMap<ParsedNode, ParsedNode | null>, depth: number): string {
    const names = new Set<string>();
    const members = map.items.map(({ key, value }) => {
      const name = this.#key(key);
      if (names.has(name)) throw this.#fault(key, `the key \`${name}\` stands twice`);
      names.add(name);
      return `${JSON.stringify(name)}:${this.node(value, depth + 1)}`;
    });
    return `{${members.join(',')}}`;
  }

  #list(list: YAMLSeq<ParsedNode>, depth: number): string {
    return `[${list.items.map((item) => this.node(item, depth + 1)).join(',')}]`;
  }

  /** A key is what is written, whatever else it could be read as: a tag may be called `1.0`. */
  #key(key: Node): string {
    if (isAlias(key)) throw this.#fault(key, `write out what the alias *${key.source} stands for`);
    if (!isScalar(key)) throw this.#fault(key, 'a key must be a text');
    return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
  }

  #fault(node: Node, message: string): YamlFault {
    return new YamlFault(message, node.range ? this.lines.linePos(node.range[0]).line : undefined);
  }
}
