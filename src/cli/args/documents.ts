import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { elements, isJson, type Member, member, members } from '../../contract/json-text.js';
import { KINDS, type Kind } from '../../contract/kinds.js';
import { CliError } from '../output/failures.js';
import { objectText } from '../output/json-layout.js';
import type { Terminal } from '../terminal.js';
import { readFileText, wanted } from './input.js';

/** One resource as a file declares it. */
export interface Declared {
  /** `groups.yaml, document 2`, for messages. */
  readonly where: string;
  readonly kind: Kind;
  /** Its name or e-mail address. */
  readonly ref: string;
  /** What its author chooses, in the order of the file. */
  readonly members: readonly Member[];
}

const EXTENSIONS = /\.(ya?ml|json|ndjson)$/;
/** What `-o crd` calls its group; any version of it is read. */
const GROUP = /^control\.svc\.dev\//;

/** Kinds whose resources can be changed: only these can be declared. */
export const DECLARABLE: readonly Kind[] = KINDS.filter(({ operations }: Kind) => operations.includes('edit'));

/**
 * The resources that files declare, in the order of the files: YAML with any number of documents, JSON, JSON lines, lists
 * as `get` writes them. Of a folder its files are read by name, not those of folders within. Throws `CliError` for what
 * cannot be read or names no resource, before anything was sent.
 */
export async function readDeclared(terminal: Terminal, files: readonly string[]): Promise<Declared[]> {
  const declared: Declared[] = [];
  for (const file of (await Promise.all(files.map(filesIn))).flat()) {
    const name = file === '-' ? 'standard input' : file;
    const documents = (await documentsIn(terminal, file, name)).flatMap(itemsOf);
    for (const [at, document] of documents.entries()) {
      const where = documents.length === 1 ? name : `${name}, document ${at + 1}`;
      declared.push(declaredIn(document, where));
    }
  }
  const seen = new Map<string, string>();
  for (const { where, kind, ref } of declared) {
    const other = seen.get(`${kind.name}/${ref}`);
    if (other !== undefined) throw new CliError(`${where}: ${kind.name}/${ref} is declared before, in ${other}`);
    seen.set(`${kind.name}/${ref}`, where);
  }
  return declared;
}

async function filesIn(file: string): Promise<readonly string[]> {
  if (file === '-' || !(await stat(file).catch(() => undefined))?.isDirectory()) return [file];
  const names = (await readdir(file)).filter((name) => EXTENSIONS.test(name)).sort();
  if (names.length === 0) throw new CliError(`${file} has no files that end with .yaml, .yml, .json or .ndjson`);
  return names.map((name) => join(file, name));
}

async function documentsIn(terminal: Terminal, file: string, name: string): Promise<readonly string[]> {
  const text = await readFileText(terminal, file);
  if (isJson(text)) return [text.trim()];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length > 1 && lines.every(isJson)) return lines.map((line) => line.trim());
  const { documentsFromYaml, YamlFault } = await import('./yaml.js');
  try {
    return documentsFromYaml(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new CliError(`${name}${error.line === undefined ? '' : `, line ${error.line}`}: ${error.message}`);
  }
}

/** Those of a list, of an envelope or of an array; any other document is one. */
function itemsOf(document: string): readonly string[] {
  if (document.startsWith('[')) return elements(document).flatMap(itemsOf);
  if (!document.startsWith('{')) return [document];
  const item = member(document, 'item');
  if (item?.startsWith('{')) return [item];
  const items = member(document, 'items');
  return items?.startsWith('[') ? elements(items) : [document];
}

function declaredIn(document: string, where: string): Declared {
  if (!document.startsWith('{')) throw new CliError(`${where}: is no object`);
  const kind = DECLARABLE.find(({ name }) => JSON.stringify(name) === member(document, 'kind'));
  const kinds = DECLARABLE.map(({ name }) => name).join(', ');
  if (!kind) throw new CliError(`${where}: kind is missing, or not one of ${kinds}`);
  const group = member(document, 'apiVersion');
  const resource = group === undefined ? document : unwrapped(kind, document, group, where);
  const ref = textIn(resource, kind.ref);
  if (ref === undefined || ref === '')
    throw new CliError(`${where}: ${kind.ref} is missing; it names the ${kind.noun}`);
  return { where, kind, ref, members: wanted(kind, resource) };
}

/** A Kubernetes document as the resource that it was written from. */
function unwrapped(kind: Kind, document: string, group: string, where: string): string {
  if (!GROUP.test(JSON.parse(group) as string))
    throw new CliError(`${where}: apiVersion is ${group}, not control.svc.dev/v1`);
  const [metadata = '{}', spec = '{}'] = [member(document, 'metadata'), member(document, 'spec')];
  if (!metadata.startsWith('{') || !spec.startsWith('{')) throw new CliError(`${where}: metadata and spec are objects`);
  const name = member(metadata, 'name');
  const named = kind.ref === 'name' && name !== undefined ? [{ name: 'name', raw: name }] : [];
  const isOwn = ({ name: one }: Member) => kind.name !== 'domain' || DESCRIBED.has(one);
  const all = members(spec);
  const within = all.filter((one) => !isOwn(one));
  return objectText([
    ...named,
    ...all.filter(isOwn),
    ...(within.length > 0 ? [{ name: 'spec', raw: objectText(within) }] : []),
  ]);
}

/** Of a domain, what does not belong to the `spec` of its own, which is a part of the document's. */
const DESCRIBED: ReadonlySet<string> = new Set(['description', 'tags']);

function textIn(document: string, name: string): string | undefined {
  const raw = member(document, name);
  return raw?.startsWith('"') ? (JSON.parse(raw) as string) : undefined;
}
