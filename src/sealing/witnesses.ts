import type { Logger } from 'pino';
import { within } from '../platform/waiting.js';
import { parseCheckpoint } from '../tlog/checkpoint.js';
import { consistencyPath, type Nodes } from '../tlog/merkle.js';
import type { Policy } from '../tlog/policy.js';
import { NotCosigned, type Submission, WitnessClient } from './witness-client.js';

/** Who must cosign a checkpoint of the service log before it is published. */
export interface Cosigner {
  /**
   * Resolves, after some seconds at most, with the note and the cosignatures that it got; undefined if they are too few. Takes
   * a note that the log has signed. One call at a time. Asks nobody any more when the signal aborts.
   */
  cosign(note: string, signal: AbortSignal): Promise<string | undefined>;
}

/** How long those that were not needed for the quorum are waited for. */
const GRACE_MS = 1_000;

/** A witness that does not answer. Longer than all attempts of one. */
const MOST_MS = 16_000;

/** From then on a missing quorum is reported. */
export const QUORUM_MS = 5 * 60_000;

/** Asks the witnesses of a policy, all at once. */
export class Witnesses implements Cosigner {
  readonly #clients: readonly WitnessClient[];
  /** Those whose last request has not ended. */
  readonly #busy = new Set<WitnessClient>();
  /** Why a witness did not cosign the last time, by its name. */
  readonly #faults = new Map<string, string>();
  #missingSince: number | undefined;

  /** `nodes` reads the service log, at least as far as it has been signed. */
  constructor(
    private readonly policy: Policy,
    private readonly nodes: (size: number) => Nodes,
    private readonly logger: Logger,
    private readonly now: () => number = Date.now,
  ) {
    const addresses = policy.witnesses.flatMap(({ url, ...witness }) =>
      url === undefined ? [] : [{ ...witness, url }],
    );
    this.#clients = addresses.map((witness) => new WitnessClient(witness, now));
  }

  /** For how many milliseconds a checkpoint has waited for its quorum; 0 if none waits. */
  get missingMs(): number {
    return this.#missingSince === undefined ? 0 : this.now() - this.#missingSince;
  }

  /** Of every witness that can be asked, why it did not cosign the last time; undefined if it did. */
  get states(): readonly { readonly name: string; readonly fault: string | undefined }[] {
    return this.#clients.map(({ witness: { name } }) => ({ name, fault: this.#faults.get(name) }));
  }

  async cosign(note: string, signal: AbortSignal): Promise<string | undefined> {
    const { origin, size } = parseCheckpoint(note.slice(0, note.lastIndexOf('\n\n') + 1));
    const nodes = this.nodes(size);
    const submission = { note, origin, size, signal, path: (from: number) => consistencyPath(from, size, nodes) };
    const lines = new Map<string, string>();
    const isMet = () => this.policy.isMetBy(lines.keys());
    const met = Promise.withResolvers<void>();
    const asked = this.#clients
      .filter((client) => !this.#busy.has(client))
      .map(async (client) => {
        const line = await this.#ask(client, submission);
        if (line !== undefined) lines.set(client.witness.vkey, line);
        if (isMet()) met.resolve();
      });
    if (isMet()) met.resolve();
    const all = Promise.all(asked);
    await within(MOST_MS, Promise.race([all, met.promise]), undefined);
    await within(GRACE_MS, all, undefined);
    if (isMet()) {
      this.#missingSince = undefined;
      return note + [...lines.values()].join('');
    }
    this.#missingSince ??= this.now();
    return undefined;
  }

  async #ask(client: WitnessClient, submission: Submission): Promise<string | undefined> {
    const { name } = client.witness;
    this.#busy.add(client);
    try {
      const line = await client.cosign(submission);
      if (this.#faults.delete(name)) this.logger.info({ witness: name }, 'the witness cosigns again');
      return line;
    } catch (error) {
      if (submission.signal.aborted) return undefined;
      const { message } = error as Error;
      const isFork = error instanceof NotCosigned && error.isFork;
      if (this.#faults.get(name) !== message)
        this.logger[isFork ? 'error' : 'warn']({ witness: name, fault: message }, 'a witness did not cosign');
      this.#faults.set(name, message);
      return undefined;
    } finally {
      this.#busy.delete(client);
    }
  }
}
