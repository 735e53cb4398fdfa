import { escapeLine, isUnsafe } from '../output/escape.js';
import { Terminal } from '../terminal.js';
import { type Answer, complete } from './complete.js';

/**
 * Prints the completions of a command line for a shell: one candidate a line, a tab and its description; or the one
 * word `files`, for the shell to offer its own. After any failure nothing is offered and nothing is printed: the user is
 * in the middle of typing. Ends the process, since a lookup of a host's name could outlast the user's patience.
 */
export async function answerShell(words: readonly string[]): Promise<never> {
  const { stdin, stdout, stderr, env } = process;
  const terminal = new Terminal({ stdin, stdout, stderr }, env);
  try {
    const answer = await complete(words, async (source, prefix, { options: given }) => {
      const { profileNames, resourceNames } = await import('./names.js');
      const asking = { given, env };
      return source === 'profiles' ? profileNames(asking) : resourceNames(source, prefix, asking);
    });
    await terminal.out(textOf(answer));
    await terminal.flush();
  } catch {
    // Nothing is printed, as promised above.
  }
  process.exit(0);
}

function textOf(answer: Answer): string {
  if (answer === 'files') return 'files\n';
  // A name that could steer the terminal is not offered: escaped, it would name something else.
  const safe = answer.filter(({ value }) => value !== '' && !isUnsafe(value));
  return safe.map(({ value, description }) => `${value}\t${escapeLine(description.trim())}\n`).join('');
}
