import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { SvcContext } from '../command.js';
import { CliError, UsageError } from '../output/failures.js';
import type { Terminal } from '../terminal.js';

const DEFAULT = 'vi';
const HINT = 'EDITOR names the program to edit with, and its options, such as `code --wait`';

/** Whether a person sits at a terminal that an editor can use. */
export const isAttended = ({ stdin, isTTY, errorIsTTY }: Terminal): boolean => stdin.isTTY && (isTTY || errorIsTTY);

/** The program that the user edits text with. */
export class Editor {
  /** `EDITOR`, else `VISUAL`, else vi, which needs a terminal. Throws if there is none. */
  static of(context: SvcContext): Editor {
    const { env, terminal } = context;
    const [name, text] = ['EDITOR', 'VISUAL'].map((one) => [one, env[one]?.trim()]).find(([, value]) => value) ?? [];
    if (name !== undefined && text !== undefined) return new Editor(context, wordsOf(name, text));
    if (isAttended(terminal)) return new Editor(context, [DEFAULT]);
    throw new CliError(`there is no terminal to run ${DEFAULT} on`, undefined, [HINT]);
  }

  private constructor(
    readonly context: SvcContext,
    readonly words: readonly string[],
  ) {}

  /** Edits the file. Throws if the editor cannot be started, or fails. */
  async open(path: string): Promise<void> {
    const [program = DEFAULT, ...options] = this.words;
    // Standard output is for data: if it is no terminal, the editor draws on standard error.
    const screen = this.context.terminal.isTTY ? 'inherit' : 2;
    const ended = this.context.foreground(async () => {
      const child = spawn(program, [...options, path], { stdio: ['inherit', screen, 'inherit'] });
      return (await once(child, 'exit')) as [code: number | null, signal: string | null];
    });
    const [code, signal] = await ended.catch((cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'ENOENT' ? 'there is no such program' : cause.message;
      throw new CliError(`cannot run the editor \`${program}\`: ${why}`, undefined, [HINT], { cause });
    });
    if (code !== 0) throw new CliError(`the editor \`${program}\` ended with ${signal ?? code}: nothing was sent`);
  }
}

/** The words of a command as a shell reads them: quotes and backslashes count. Nothing in it is expanded or run. */
function wordsOf(name: string, text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = '';
  for (let at = 0; at < text.length; at++) {
    const char = text[at] as string;
    if (char === quote) quote = '';
    else if (char === '\\' && quote !== "'" && at + 1 < text.length) word = (word ?? '') + text[++at];
    else if (quote !== '') word = (word ?? '') + char;
    else if (char === '"' || char === "'") {
      quote = char;
      word ??= '';
    } else if (!/\s/.test(char)) word = (word ?? '') + char;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  if (quote !== '') throw new UsageError(`a quote of ${name} is not closed: \`${text}\``);
  return word === undefined ? words : [...words, word];
}
