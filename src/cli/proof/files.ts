import { open, readFile } from 'node:fs/promises';
import { step, VerificationFailed } from '../../tlog/failure.js';
import { parseSidecarLine } from '../../tlog/sidecar.js';
import { CliError, EXIT } from '../output/failures.js';
import { fileFault } from '../output/file-fault.js';

/** Beside an export: a line for each of its lines, and what shows that none is left out. */
export const proofFile = (file: string): string => `${file}.proof`;

/** A checkpoint line is far shorter; the line behind it, too. */
const TAIL_BYTES = 256 * 1024;

/** The signed checkpoint at the end of a proof file. Throws `VerificationFailed` if the last two lines are others. */
export async function noteIn(file: string): Promise<string> {
  const tail = await reading(file, async () => {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const length = Math.min(size, TAIL_BYTES);
      return (await handle.read(Buffer.alloc(length), 0, length, size - length)).buffer.toString('utf8');
    } finally {
      await handle.close();
    }
  });
  const lines = tail.replace(/\n$/, '').split('\n').slice(-2);
  const [checkpoint, end] = step('format', `The end of ${file}`, () => lines.map(parseSidecarLine));
  if (checkpoint?.kind === 'checkpoint' && end?.kind === 'end') return checkpoint.note;
  throw new VerificationFailed(
    'format',
    `The proof file ${file} does not end with a checkpoint and the end of the export.`,
  );
}

export const readFileText = (file: string): Promise<string> => reading(file, () => readFile(file, 'utf8'));

/** Names the file in the errors of the file system. */
export async function reading<Result>(file: string, read: () => Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (error) {
    throw new CliError(`cannot read ${file}: ${fileFault(error)}`, EXIT.failure, [], { cause: error });
  }
}
