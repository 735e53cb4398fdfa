import { existsSync, readFileSync } from 'node:fs';
import { writePrivate } from '../platform/private-file.js';
import { SigningKeys } from '../sealing/signing-keys.js';
import { FormatInvalid } from '../tlog/text.js';

/** For so long verifiers have time to learn the new key. */
const FORMER_MS = 90 * 86_400_000;

/** Of a key in PEM, which has no name: the names of checkpoints come from the log. */
const UNNAMED = 'checkpoints';

/** Puts a new key before the one in the file, and says so on standard error. The result is the exit code. */
export async function rotateKey(file: string): Promise<number> {
  if (!existsSync(file)) return say(1, `${file} is not there: the first start of the service makes it`);
  try {
    const keys = SigningKeys.parse(readFileSync(file, 'utf8'), UNNAMED).rotated(Date.now(), FORMER_MS);
    writePrivate(file, keys.toText());
    const [former] = keys.former;
    const until = new Date(former?.until ?? 0).toISOString().slice(0, 10);
    return say(
      0,
      `${file} has a new key; the one before signs too until ${until}. Restart the service, and give the key that
GET /audit/-tlog/vkey shows then to witnesses and auditors`,
    );
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof FormatInvalid) && !('syscall' in (error as Error))) throw error;
    return say(1, `rotate-key: ${file}: ${message}`);
  }
}

function say(code: number, text: string): number {
  process.stderr.write(`${text}\n`);
  return code;
}
