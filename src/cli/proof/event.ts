import { type ApiClient, path } from '../../client/api-client.js';
import { member } from '../../contract/json-text.js';
import { parseCheckpoint } from '../../tlog/checkpoint.js';
import { VerificationFailed } from '../../tlog/failure.js';
import { splitNote } from '../../tlog/note.js';
import { parseTlogProof } from '../../tlog/tlog-proof.js';
import { type VerifiedEvent, verifyEvent } from '../../tlog/verify-event.js';
import { LogReader, readBytes } from './log-reader.js';
import { notVerified, requireContinuation } from './observed.js';
import { pinnedLog } from './pinned-log.js';

interface ProvenEvent {
  /** The exact bytes that are proven. */
  readonly event: Buffer;
  readonly proof: string;
  readonly found: VerifiedEvent;
}

/** Reads an event and its proof, and verifies both against the pinned log. */
export async function provenEvent(
  client: ApiClient,
  { auditEndpoint, org, id }: { readonly auditEndpoint: string; readonly org: string; readonly id: string },
  env: NodeJS.ProcessEnv,
): Promise<ProvenEvent> {
  const at = path`/audit/org/${org}/id/${id}`;
  const proof = (await readBytes(client, `${at}/-proof`)).toString('utf8');
  const envelope = await client.call({ method: 'GET', path: at, on: 'audit', retry: 'safe' });
  const event = Buffer.from(member(envelope, 'item') ?? '');
  // Observed later than the proof was made, so that the pin cannot be behind it.
  const { checkpoint, pin } = await pinnedLog(client, { auditEndpoint }, org, env);
  try {
    const found = verifyEvent({ event, proof, trust: { vkeys: [pin.vkey] } });
    const { note } = parseTlogProof(proof);
    await requireContinuation(new LogReader(client, org), parseCheckpoint(splitNote(note).text), checkpoint);
    return { event, proof, found };
  } catch (error) {
    throw error instanceof VerificationFailed ? notVerified(error.message) : error;
  }
}
