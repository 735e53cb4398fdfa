import { setTimeout as delay } from 'node:timers/promises';
import { separated } from '../../src/cli/proof/proven-export.js';
import { type Checkpoint, parseCheckpoint } from '../../src/tlog/checkpoint.js';
import { openNote } from '../../src/tlog/note.js';
import { type VerifiedExport, verifyExport } from '../../src/tlog/verify-export.js';
import { type Org, withQuery } from './api.js';
import { PATIENCE } from './patience.js';

/** A service whose checkpoints follow at once. */
export const SEALED_OFTEN = { CONTROL_TLOG_INTERVAL_MS: '100' };

/** An export and its proof, as two files would have them. */
export interface Proven {
  readonly events: Buffer;
  readonly proof: Buffer;
}

type Asked = Parameters<typeof verifyExport>[0];

async function* inChunks(...chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** The verifier key of an organization's log. */
export async function vkeyOfLog({ api, audit }: Org): Promise<string> {
  const { text } = await api.get<unknown>(`${audit}/-tlog/vkey`);
  return text.split(/[ \n]/)[0] ?? '';
}

/** The newest checkpoint, its signature verified. */
export async function checkpointOf(org: Org): Promise<Checkpoint & { readonly note: string }> {
  const { status, text } = await org.api.get<unknown>(`${org.audit}/-tlog/checkpoint`);
  if (status !== 200) throw new Error(`the checkpoint answered ${status}: ${text}`);
  return { ...parseCheckpoint(openNote(text, [await vkeyOfLog(org)]).text), note: text };
}

/** Resolves with the first checkpoint that has so many leaves. */
export async function checkpointOfSize(org: Org, size: number): Promise<Awaited<ReturnType<typeof checkpointOf>>> {
  for (const deadline = Date.now() + 20_000 * PATIENCE; ; await delay(20)) {
    const checkpoint = await checkpointOf(org).catch(() => undefined);
    if (checkpoint && checkpoint.size >= size) return checkpoint;
    if (Date.now() > deadline) throw new Error(`no checkpoint of ${size} leaves, only of ${checkpoint?.size}`);
  }
}

/** Resolves when a checkpoint covers all events of the organization; `events`: how many those are. */
export async function checkpointed(org: Org): Promise<{ readonly events: number }> {
  const { text } = await org.api.get<unknown>(`${org.audit}/-export`);
  const { count } = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '') as { count: number };
  // The beginning and the end of this export are events themselves.
  await checkpointOfSize(org, count + 2);
  return { events: count + 2 };
}

export async function provenExport({ api, audit }: Org, query: Readonly<Record<string, string>> = {}): Promise<Proven> {
  const { status, text } = await api.get<unknown>(withQuery(`${audit}/-export`, { ...query, proof: 'true' }));
  if (status !== 200) throw new Error(`the export answered ${status}: ${text}`);
  const [events, proof]: [Buffer[], Buffer[]] = [[], []];
  for await (const part of separated(inChunks(Buffer.from(text)))) {
    events.push(part.events);
    proof.push(part.proof);
  }
  return { events: Buffer.concat(events), proof: Buffer.concat(proof) };
}

/** Throws `VerificationFailed`. */
export function verifyProven(
  { events, proof }: Proven,
  vkey: string,
  demands: Omit<Asked, 'events' | 'proof' | 'trust'> & { readonly number?: number } = {},
): Promise<VerifiedExport> {
  const { number, ...others } = demands;
  const trust = { vkeys: [vkey], ...(number !== undefined && { number }) };
  return verifyExport({ events: inChunks(events), proof: inChunks(proof), trust, ...others });
}
