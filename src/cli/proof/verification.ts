import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { ApiClient } from '../../client/api-client.js';
import { VerificationFailed } from '../../tlog/failure.js';
import { FormatInvalid } from '../../tlog/text.js';
import { parseTlogProof } from '../../tlog/tlog-proof.js';
import { verifyEvent } from '../../tlog/verify-event.js';
import { type VerifiedExport, verifyExport } from '../../tlog/verify-export.js';
import { UsageError } from '../output/failures.js';
import { progressBar } from '../output/progress-bar.js';
import type { Terminal } from '../terminal.js';
import { noteIn, proofFile, readFileText, reading } from './files.js';
import { notVerified } from './observed.js';
import { pinnedLog } from './pinned-log.js';
import { type Pin, Pins, pinFolder, untilPinned } from './pins.js';
import { bothParts, provenExport, separated } from './proven-export.js';
import { reportOf } from './report.js';
import { demandsOn, type Given, olderThan, pinVerified } from './trust.js';

interface Surroundings {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  readonly given: Given;
}

/** What was verified, for people and for programs. */
interface Verification {
  readonly text: string;
  readonly found: object;
}

const CHUNK_BYTES = 1024 * 1024;

/** Of an export and its proof file, offline. Throws `CliError` if anything in it is not as it was signed. */
export async function ofExport(file: string, proof = proofFile(file), at: Surroundings): Promise<Verification> {
  const pins = new Pins(pinFolder(at.env));
  const once = async () => {
    const note = await noteIn(proof);
    const { demands, pin } = await demandsOn(note, at.given, pins);
    const sizes = await Promise.all([file, proof].map((one) => reading(one, () => stat(one))));
    const bytes = sizes.reduce((sum, { size }) => sum + size, 0);
    const chunks = (one: string) => createReadStream(one, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
    const found = await verified({ ...demands, note, events: chunks(file), proof: chunks(proof) }, bytes, at);
    if (!(await pinVerified(note, found, pin, pins))) return undefined;
    return verification(`${file}: ${eventsShown(found)}`, withOlder(found, pin), at);
  };
  return judged(() => untilPinned(once));
}

/** Of the exact bytes of an event and its proof, offline. */
export async function ofEvent(file: string, proofFileName: string, at: Surroundings): Promise<Verification> {
  const [event, proof] = [await reading(file, () => readFile(file)), await readFileText(proofFileName)];
  return judged(async () => {
    const { note } = parsedProof(proof);
    const { demands: all, pin } = await demandsOn(note, at.given, new Pins(pinFolder(at.env)));
    const { trust, ...demands } = all;
    // A proof of one event has no head proof, so nothing can show the number.
    const { number: _number, ...believed } = trust;
    const found = verifyEvent({ event, proof, ...demands, trust: believed });
    return verification(`${file}: the event is leaf ${found.leaf} of the history`, withOlder(found, pin), at);
  });
}

export interface Service {
  readonly client: ApiClient;
  readonly auditEndpoint: string;
  readonly org: string;
  /** Whether all events are read. */
  readonly full: boolean;
}

/** Of what the service shows now. The pin is as old as the last call of `svc` that saw the log. */
export function ofService(service: Service, at: Surroundings): Promise<Verification> {
  const { client, org, full } = service;
  const { terminal, given, env } = at;
  return judged(async () => {
    const { checkpoint, pin, before } = await pinnedLog(client, service, org, env, given);
    const { size } = checkpoint;
    const { complete = 0 } = checkpoint.cut ?? {};
    if (given.after !== undefined && complete < given.after) {
      throw notVerified(`the history is complete up to ${new Date(complete).toISOString()} only`);
    }
    if (!before) terminal.note(`pinned for the first time, as the service shows it: ${pin.vkey}`);
    if (!full) {
      const continues = `continues the pinned checkpoint of ${before?.size} leaves`;
      const what = `the checkpoint of ${size} leaves ${before ? continues : 'is signed; nothing was pinned before'}`;
      const lines = [`${terminal.paint('green', 'verified')}: ${what}`, 'not shown:', `  ${WITHOUT_EVENTS}`];
      const { former: _former, ...newest } = pin;
      return {
        text: `${lines.join('\n')}\n`,
        found: { kind: 'checkpoint', ...newest, size, complete, before: before?.size },
      };
    }
    const trust = { vkeys: [pin.vkey] };
    const take = (answer: IncomingMessage) =>
      // Judged here: what does not verify is no failure of the call.
      judged(() => verified({ ...bothParts(separated(answer)), trust, pinned: pin.note }, undefined, at));
    const found = await client.download(provenExport(org, { pinned: String(size) }), take);
    return verification(`${org}: ${eventsShown(found)}`, found, at);
  });
}

const WITHOUT_EVENTS = 'The events: --full reads and verifies them.';

/** `bytes`: of both files, if that is known. */
function verified(
  given: Parameters<typeof verifyExport>[0],
  bytes: number | undefined,
  { terminal }: Surroundings,
): Promise<VerifiedExport> {
  const begun = performance.now();
  const onProgress = (done: number, events: number) =>
    terminal.progress(progressBar(bytes === undefined ? undefined : done / bytes, events, performance.now() - begun));
  return verifyExport({ ...given, onProgress });
}

function verification(what: string, found: Parameters<typeof reportOf>[2], { terminal }: Surroundings): Verification {
  return { text: reportOf(terminal, what, found), found: { kind: 'verification', ...found } };
}

function withOlder<Found extends Parameters<typeof reportOf>[2]>(found: Found, pin: Pin | undefined): Found {
  return { ...found, notShown: [...olderThan(pin, found), ...found.notShown] };
}

const eventsShown = ({ events, size, closed }: VerifiedExport): string =>
  closed === 0 ? `all ${events} events of the history` : `${events} of ${size} events of the history`;

/** Errors of a verification as those of a command: what the user gave is a usage error, all else is not verified. */
async function judged<Result>(verify: () => Promise<Result>): Promise<Result> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof VerificationFailed) throw notVerified(error.message);
    if (error instanceof FormatInvalid) throw new UsageError(error.message);
    throw error;
  }
}

function parsedProof(text: string): ReturnType<typeof parseTlogProof> {
  try {
    return parseTlogProof(text);
  } catch (error) {
    throw notVerified((error as Error).message);
  }
}
