import type { EventLog } from '../event-log/event-log.js';
import { isoTime } from '../platform/clock.js';
import type { Anchoring } from '../sealing/anchors/anchoring.js';
import type { KnownHistory } from '../sealing/known-history.js';
import type { Sealer } from '../sealing/sealer.js';
import type { TlogStatus } from '../sealing/status.js';
import type { Witnesses } from '../sealing/witnesses.js';
import { NoteInvalid, openNote } from '../tlog/note.js';
import type { Policy } from '../tlog/policy.js';
import { TreesLost } from '../tree-store/tree-store.js';

interface StatusParts {
  readonly log: EventLog;
  readonly history: KnownHistory;
  readonly policy: Policy | undefined;
  /** Of a process that can seal, as those that follow. */
  readonly sealer: Sealer | undefined;
  readonly witnesses: Witnesses | undefined;
  readonly anchoring: Anchoring | undefined;
}

/** Trees that are not yet made, or made again, are a state to show. Throws a `ControlError` if the log or the store cannot be read. */
export async function tlogStatusOf(parts: StatusParts): Promise<TlogStatus> {
  const { log, history, policy, sealer, anchoring } = parts;
  const { leads = false, stalled, failing, diverged = history.refusal } = sealer?.status ?? {};
  const found = await history.store.published('service').catch(onlyLost);
  const [note, lost] = found instanceof TreesLost ? [undefined, found.message] : [found?.note, undefined];
  const heads = { audit: await log.head('audit'), control: await log.head('control') };
  const [epoch, checkpoint, keys] = [history.epoch, history.published, await history.vkeys()];
  const vkey = keys.at(-1)?.vkey;
  const witnesses = leads ? parts.witnesses : undefined;
  return {
    ...{ seals: leads, origin: history.origins.service, epoch, ...(vkey !== undefined && { vkey }) },
    ...(checkpoint && { checkpoint }),
    lagSeconds: history.lagMs(heads) / 1000,
    divergence: diverged ?? null,
    stalled: stalled ?? failing ?? lost ?? null,
    ...(policy && {
      quorum: { name: policy.quorum, ...(witnesses && { missingSeconds: witnesses.missingMs / 1000 }) },
    }),
    witnesses: policy ? witnessed(note ?? '', policy, witnesses) : [],
    anchors: leads ? (anchoring?.states ?? []).map(({ name, keptAt }) => ({ name, ...timed('kept', keptAt) })) : [],
  };
}

function onlyLost(error: unknown): TreesLost {
  if (error instanceof TreesLost) return error;
  throw error;
}

function witnessed(note: string, policy: Policy, witnesses: Witnesses | undefined): TlogStatus['witnesses'] {
  const cosigned = cosignedIn(note, policy);
  const faults = new Map(witnesses?.states.map(({ name, fault }) => [name, fault]));
  return policy.witnesses.map(({ name, vkey }) => {
    const fault = faults.get(name);
    return { name, ...timed('cosigned', cosigned.get(vkey)), ...(fault !== undefined && { fault }) };
  });
}

/** When each key cosigned the note, in milliseconds. */
function cosignedIn(note: string, { witnesses }: Policy): ReadonlyMap<string, number | undefined> {
  if (note === '') return new Map();
  try {
    const { signatures } = openNote(
      note,
      witnesses.map(({ vkey }) => vkey),
    );
    return new Map(signatures.map(({ vkey, time }) => [vkey, time]));
  } catch (error) {
    if (error instanceof NoteInvalid) return new Map();
    throw error;
  }
}

function timed<Name extends string>(name: Name, ms: number | undefined): { readonly [K in Name]?: string } {
  return ms === undefined ? {} : ({ [name]: isoTime(ms) } as { readonly [K in Name]: string });
}
