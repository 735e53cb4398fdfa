import { createReadStream } from 'node:fs';
import { Interrupted } from '../../client/errors.js';
import { isJson, type Member, members } from '../../contract/json-text.js';
import type { Kind } from '../../contract/kinds.js';
import { LIMITS } from '../../contract/limits.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { fileFault } from '../output/file-fault.js';
import type { Terminal } from '../terminal.js';

/** Well beyond the largest resource that the service takes. */
const LONGEST = 4 * LIMITS.bodyBytes;

/**
 * The object that a file holds (of `-`, standard input), in JSON or YAML, as JSON text: numbers digit for digit. Throws
 * `CliError` for a file that cannot be read, is larger than 1 MiB, or holds anything else.
 */
export async function readObject(terminal: Terminal, file: string): Promise<string> {
  const name = file === '-' ? 'standard input' : file;
  const text = await readFileText(terminal, file);
  const json = isJson(text) ? text : await yamlAsJson(text, name);
  if (!json.trimStart().startsWith('{')) throw new CliError(`${name} does not hold an object`);
  return json;
}

/** The text of a file (of `-`, standard input) of at most 1 MiB. Throws `CliError`. */
export function readFileText(terminal: Terminal, file: string): Promise<string> {
  return file === '-' ? readText(terminal.input, 'standard input') : readText(createReadStream(file), file);
}

async function readText(stream: AsyncIterable<Buffer | string>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > LONGEST) throw new CliError(`${name} is larger than ${LONGEST / 1024 / 1024} MiB`);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    if (error instanceof CliError || error instanceof Interrupted) throw error;
    throw new CliError(`cannot read ${name}: ${fileFault(error)}`, EXIT.failure, [], { cause: error });
  }
}

async function yamlAsJson(text: string, name: string): Promise<string> {
  const { fromYaml, YamlFault } = await import('./yaml.js');
  try {
    return fromYaml(text);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    throw new CliError(`${name}${error.line === undefined ? '' : `, line ${error.line}`}: ${error.message}`);
  }
}

/** Members that the service sets on every resource: no file that creates one can choose them. */
const ASSIGNED = ['kind', 'id', 'version', 'created', 'lastModified', 'links', 'status'];

/** The members of a resource's JSON text that its author chooses, in their order. */
export function wanted({ assigned, shown }: Kind, resource: string): Member[] {
  const left = new Set([...ASSIGNED, ...assigned, ...shown]);
  return members(resource).filter(({ name }) => !left.has(name));
}

/** Throws `UsageError` for a document that says it is of another kind. */
export function checkKind(document: string, kind: Kind): void {
  const said = members(document).findLast(({ name }) => name === 'kind')?.raw;
  if (said === undefined || said === JSON.stringify(kind.name)) return;
  throw new UsageError(`the file is of kind ${said}, not "${kind.name}"`);
}
