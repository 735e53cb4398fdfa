import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { Interrupted } from '../client/errors.js';

// Node's own line editor: @clack/prompts moves the cursor and redraws also on a dumb terminal, and shows the length of a key.

interface Streams {
  readonly stdin: ReadStream;
  readonly stderr: WriteStream;
}

/** Asks for a line on standard error. The terminal itself edits the line, so nothing is drawn; the end of input is an empty answer. */
export async function askLine({ stdin, stderr }: Streams, question: string, signal: AbortSignal): Promise<string> {
  stderr.write(question);
  const editor = createInterface({ input: stdin, terminal: false });
  const stop = () => editor.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const line = await nextLine(editor);
    if (signal.aborted) throw new Interrupted();
    if (line === undefined) stderr.write('\n');
    return line ?? '';
  } finally {
    signal.removeEventListener('abort', stop);
    editor.close();
  }
}

/** Asks for a line that is not shown, with the usual keys to edit it. */
export async function askHidden({ stdin, stderr }: Streams, prompt: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Echo goes off before the prompt invites anyone to type.
  const editor = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  stderr.write(prompt);
  let interrupted = false;
  editor.on('SIGINT', () => {
    interrupted = true;
    editor.close();
  });
  try {
    const line = await nextLine(editor);
    if (interrupted) throw new Interrupted();
    return line ?? '';
  } finally {
    editor.close();
    stderr.write('\n');
  }
}

const nextLine = (editor: Interface): Promise<string | undefined> =>
  new Promise((resolve) => editor.once('line', resolve).once('close', () => resolve(undefined)));
