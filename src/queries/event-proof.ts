import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import type { Reach } from '../model/access.js';
import { READ_MODEL, type ReadModel } from '../read-model/read-model.js';
import { type RecordPlace, requireSealing, SEALED_HISTORY, type SealedHistory } from '../sealing/history.js';
import { inclusionPath } from '../tlog/merkle.js';
import { tlogProofText } from '../tlog/tlog-proof.js';
import { readableEvent } from './audit-get.js';
import { Leaves } from './leaves.js';
import { publishedLog } from './published-log.js';

/**
 * Answers the proof (C2SP tlog-proof) that the event is in the history of its organization. Throws `not_found` as
 * `GetAuditEvent`, `not_integrated` if no published checkpoint covers the event in time, and `not_sealed` if none will.
 */
export class GetEventProof extends Query<string> {
  constructor(
    readonly org: string,
    readonly id: string,
    /** The contexts that the caller may read. */
    readonly reach: Reach,
    readonly timeoutMs: number,
  ) {
    super();
  }
}

@QueryHandler(GetEventProof)
export class GetEventProofHandler implements IQueryHandler<GetEventProof> {
  constructor(
    @Inject(READ_MODEL) private readonly model: ReadModel,
    @Inject(SEALED_HISTORY) private readonly history: SealedHistory,
  ) {}

  async execute({ org, id, reach, timeoutMs }: GetEventProof): Promise<string> {
    const event = await readableEvent(this.model, org, id, reach);
    requireSealing(this.history);
    const isSealed = await this.history.sealed(event.place as RecordPlace, timeoutMs);
    requireSealing(this.history);
    if (!isSealed) throw notYet(id);
    const log = await publishedLog(this.history, org);
    const secret = await this.history.orgSecret(org);
    const leaf = await new Leaves(this.history.store, log.tree, log.size, secret).of(event);
    if (!leaf || leaf === 'later') throw notYet(id);
    const path = await inclusionPath(leaf.index, log.size, log.nodes);
    const extra = Buffer.from(JSON.stringify({ salt: leaf.salt.toString('base64url') }));
    return tlogProofText({ extra, index: leaf.index, path, note: log.note });
  }
}

function notYet(id: string): ControlError {
  return new ControlError('not_integrated', `no published checkpoint covers the event ${id} yet; try again`);
}
