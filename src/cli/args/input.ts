import { createReadStream } from 'node:fs';
import { Interrupted } from '../../client/errors.js';
import { isJson } from '../../client/json-text.js';
import { CliError, EXIT } from '../output/failures.js';
import type { Terminal } from '../terminal.js';

/** Well beyond the largest resource that the service takes. */
const LONGEST = 1024 * 1024;

/**
 * The object that a file holds (of `-`, standard input), in JSON or YAML, as JSON text: numbers digit for digit. Throws
 * `CliError` for a file that cannot be read, is larger than 1 MiB, or holds anything else.
 */
export async function readObject(terminal: Terminal, file: string): Promise<string> {
  const name = file === '-' ? 'standard input' : file;
  const text = await readText(file === '-' ? terminal.stdin : createReadStream(file), name);
  const json = isJson(text) ? text : await yamlAsJson(text, name);
  if (!json.trimStart().startsWith('{')) throw new CliError(`${name} does not hold an object`);
  return json;
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
    throw new CliError(`cannot read ${name}: ${(error as Error).message}`, EXIT.failure, [], { cause: error });
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
