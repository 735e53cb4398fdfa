import { type Checkpoint, parseCheckpoint } from './checkpoint.js';
import { step, VerificationFailed } from './failure.js';
import { openNote, parseVkey, type Vkey, vkeyOf } from './note.js';
import { parseOrigin } from './origin.js';
import { type Policy, parsePolicy } from './policy.js';
import { FormatInvalid } from './text.js';

/**
 * What the verifier believes without proof, and got by another way than from the service. A key of an organization's log or of
 * the service log is also good for the other of the two, under the same base and epoch.
 */
export interface Trust {
  readonly vkeys?: readonly string[];
  /** The text of a C2SP tlog-policy, whose logs are trusted too. */
  readonly policy?: string;
  /** Of the organization in the service log. Asks for a head proof. */
  readonly number?: number;
}

/** A checkpoint whose signature was verified. */
export interface OpenCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly text: string;
  /** Of the keys that signed for the log. */
  readonly signedBy: readonly string[];
  readonly cosignatures: readonly Cosignature[];
}

export interface Cosignature {
  readonly name: string;
  readonly vkey: string;
  /** When the witness saw the checkpoint, in milliseconds. */
  readonly time: number;
}

export class Trusted {
  readonly policy: Policy | undefined;
  readonly #logs: readonly Vkey[];
  readonly #witnesses: readonly string[];

  /** Throws `FormatInvalid`: this is the caller's own input, and no fault of the service. */
  constructor({ vkeys = [], policy }: Trust) {
    this.policy = policy === undefined ? undefined : parsePolicy(policy);
    this.#logs = [...vkeys, ...(this.policy?.logs ?? []).map(({ vkey }) => vkey)].map(parseVkey);
    this.#witnesses = (this.policy?.witnesses ?? []).map(({ vkey }) => vkey);
    if (!this.#logs.length)
      throw new FormatInvalid('Nothing is trusted: give a verifier key, or a policy with a line "log".');
  }

  /** Throws `VerificationFailed`. `what` names the note in messages. */
  open(note: string, what: string): OpenCheckpoint {
    return step('checkpoint', what, () => {
      const origin = note.slice(0, note.indexOf('\n'));
      const keys = this.#logs.flatMap((key) => keyFor(origin, key) ?? []);
      if (!keys.length) throw new VerificationFailed('checkpoint', `${what} ${this.#foreign(origin)}`);
      const { text, signatures } = openNote(note, [...new Set([...keys, ...this.#witnesses])]);
      const checkpoint = parseCheckpoint(text);
      const signedBy = signatures.flatMap(({ vkey }) => (keys.includes(vkey) ? vkey : []));
      if (!signedBy.length)
        throw new VerificationFailed('checkpoint', `${what} is cosigned, but its log did not sign it.`);
      const cosignatures = signatures.flatMap(({ name, vkey, time }) =>
        time === undefined ? [] : { name, vkey, time },
      );
      return { checkpoint, text, signedBy, cosignatures };
    });
  }

  #foreign(origin: string): string {
    const names = [...new Set(this.#logs.map(({ name }) => name))].join(', ');
    const { epoch = 1 } = parseOrigin(origin) ?? {};
    const restored =
      epoch > 1 ? ' A number at its end says how often an older log was restored: ask the operator why.' : '';
    return `is of ${origin}, but the trusted keys are of ${names}.${restored}`;
  }
}

/** The key as one of this origin, if the same owner signs for it. */
function keyFor(origin: string, { name, type, publicKey }: Vkey): string | undefined {
  if (name === origin) return vkeyOf(name, publicKey, type);
  const [wanted, known] = [parseOrigin(origin), parseOrigin(name)];
  const isSameLog = wanted && known && wanted.base === known.base && wanted.epoch === known.epoch;
  const isServiceOf = (wanted?.org === undefined) !== (known?.org === undefined);
  return isSameLog && isServiceOf ? vkeyOf(origin, publicKey, type) : undefined;
}
