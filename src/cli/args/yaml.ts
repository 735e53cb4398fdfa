import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { LIMITS } from '../../contract/limits.js';

/** Deeper than any body that the service takes. */
const DEEPEST = 2 * LIMITS.depth;

/** More words, marks and spaces than the largest resource has. With more, even listing the faults takes seconds. */
const MOST_LEXEMES = 250_000;

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** A text that is not YAML, or that JSON cannot express. */
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
 * would have to be altered to become JSON, for a duplicate key, and for aliases: a few lines of them can expand to more
 * than any memory holds.
 */
export function fromYaml(text: string): string {
  const [document, ...more] = documentsFromYaml(text);
  if (document === undefined || more.length > 0) throw new YamlFault('must be one document');
  return document;
}

/** As `fromYaml`, of any number of documents. Empty ones count only where there is no other. */
export function documentsFromYaml(text: string): string[] {
  const lines = new LineCounter();
  const documents = compose(text, lines);
  const [fault] = documents.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
  if (fault) throw new YamlFault(fault.message, lines.linePos(fault.pos[0]).line);
  const [first, ...others] = documents.filter(({ contents }) => contents !== null);
  if (!first) return documents.slice(0, 1).map(() => 'null');
  return [first, ...others].map(({ contents }) => new Reader(lines).node(contents));
}

/**
 * Like the library's `parseAllDocuments`, but size and depth are checked before anything recurses: a text of nothing but
 * brackets would crash the process.
 */
function compose(text: string, lines: LineCounter): Document[] {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  let lexemes = 0;
  for (const lexeme of new Lexer().lex(text)) {
    lexemes += 1;
    if (lexemes > MOST_LEXEMES) throw new YamlFault('is larger than any resource');
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > DEEPEST) throw new YamlFault('nested too deep', lines.linePos(parser.offset).line);
  }
  for (const token of parser.end()) tokens.push(token);
  // Duplicate keys are found below: the composer would compare each key with all others.
  const composer = new Composer({ schema: 'core', uniqueKeys: false, prettyErrors: false });
  return [...composer.compose(tokens, true, text.length)];
}

class Reader {
  constructor(readonly lines: LineCounter) {}

  node(node: Node | null): string {
    if (node === null) return 'null';
    if (isAlias(node)) throw this.#fault(node, `replace the alias *${node.source} by its value`);
    if (isMap<Node, Node | null>(node)) return this.#map(node);
    if (isSeq<Node>(node)) return `[${node.items.map((item) => this.node(item)).join(',')}]`;
    return this.#scalar(node as Scalar);
  }

  #map(map: YAMLMap<Node, Node | null>): string {
    const names = new Set<string>();
    const members = map.items.map(({ key, value }) => {
      const name = this.#key(key);
      if (names.has(name)) throw this.#fault(key, `duplicate key \`${name}\``);
      names.add(name);
      return `${JSON.stringify(name)}:${this.node(value)}`;
    });
    return `{${members.join(',')}}`;
  }

  /** A key is its source text, also if that is a number or a date: a tag may be called `1.0`. */
  #key(key: Node | null): string {
    if (!isScalar(key)) throw this.#fault(key, 'a key must be a text');
    if (typeof key.value === 'string') return key.value;
    if (!key.source) throw this.#fault(key, 'a key is missing');
    return key.source;
  }

  #scalar(node: Scalar): string {
    const { value, source = '' } = node;
    if (typeof value === 'string') return JSON.stringify(value);
    if (typeof value === 'boolean' || value === null) return String(value);
    if (typeof value !== 'number' && typeof value !== 'bigint')
      throw this.#fault(node, 'JSON has nothing for this value');
    if (JSON_NUMBER.test(source)) return source;
    throw this.#fault(node, `write the number ${source} as JSON does, or quote it`);
  }

  #fault(node: Node | null, message: string): YamlFault {
    return new YamlFault(message, node?.range ? this.lines.linePos(node.range[0]).line : undefined);
  }
}
