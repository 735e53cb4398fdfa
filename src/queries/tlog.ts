import { Inject } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlError } from '../contract/errors.js';
import { type HeadProof, SEALED_HISTORY, type SealedHistory } from '../sealing/history.js';
import { type ReadTlogStatus, TLOG_STATUS, type TlogStatus } from '../sealing/status.js';
import { parseVkey, vkeyOf } from '../tlog/note.js';
import { parseTilePath } from '../tlog/tile.js';
import { tlogProofText } from '../tlog/tlog-proof.js';
import { publishedLog, tileOf } from './published-log.js';

/** Answers the signed checkpoint of an organization's log, or of the service's. Throws what `publishedLog` throws. */
export class GetCheckpoint extends Query<string> {
  constructor(readonly org?: string) {
    super();
  }
}

@QueryHandler(GetCheckpoint)
export class GetCheckpointHandler implements IQueryHandler<GetCheckpoint> {
  constructor(@Inject(SEALED_HISTORY) private readonly history: SealedHistory) {}

  async execute({ org }: GetCheckpoint): Promise<string> {
    return (await publishedLog(this.history, org)).note;
  }
}

/** Answers a tile or a bundle of entries (C2SP tlog-tiles). Throws `not_found` for what the published tree does not have. */
export class GetTile extends Query<Buffer> {
  constructor(
    readonly org: string | undefined,
    /** Below the log's prefix: `tile/0/x001/234.p/5`. */
    readonly path: string,
  ) {
    super();
  }
}

@QueryHandler(GetTile)
export class GetTileHandler implements IQueryHandler<GetTile> {
  constructor(@Inject(SEALED_HISTORY) private readonly history: SealedHistory) {}

  async execute({ org, path }: GetTile): Promise<Buffer> {
    const tile = parseTilePath(path);
    const bytes = tile && (await tileOf(this.history.store, await publishedLog(this.history, org), tile));
    if (bytes) return bytes;
    throw new ControlError('not_found', `the published log has no ${path}; the checkpoint says how large it is`);
  }
}

/** Answers the verifier keys of a log, a line each, oldest first: the key, the first cut that it signs, and the last if it was replaced. */
export class GetLogKeys extends Query<string> {
  constructor(readonly org?: string) {
    super();
  }
}

@QueryHandler(GetLogKeys)
export class GetLogKeysHandler implements IQueryHandler<GetLogKeys> {
  constructor(@Inject(SEALED_HISTORY) private readonly history: SealedHistory) {}

  async execute({ org }: GetLogKeys): Promise<string> {
    const { origins } = this.history;
    const origin = org === undefined ? origins.service : origins.org(org);
    const lines = (await this.history.vkeys()).map(({ vkey, fromCut, toCut }) =>
      [vkeyOf(origin, parseVkey(vkey).publicKey), fromCut, ...(toCut === undefined ? [] : [toCut])].join(' '),
    );
    return `${lines.join('\n')}\n`;
  }
}

/** Answers the proof that the service log has the head of the organization. Throws `not_integrated` before its first. */
export class GetHeadProof extends Query<string> {
  constructor(readonly org: string) {
    super();
  }
}

@QueryHandler(GetHeadProof)
export class GetHeadProofHandler implements IQueryHandler<GetHeadProof> {
  constructor(@Inject(SEALED_HISTORY) private readonly history: SealedHistory) {}

  async execute({ org }: GetHeadProof): Promise<string> {
    const { tree } = await publishedLog(this.history, org);
    const proof = await this.history.headProof(Number(tree));
    if (proof) return headProofText(proof);
    throw new ControlError('not_integrated', `no checkpoint of the service covers organization ${org} yet; try again`);
  }
}

/** Answers how far the log is sealed, and who cosigned and keeps that. Throws what the stores throw. */
export class GetTlogStatus extends Query<TlogStatus> {}

@QueryHandler(GetTlogStatus)
export class GetTlogStatusHandler implements IQueryHandler<GetTlogStatus> {
  constructor(@Inject(TLOG_STATUS) private readonly read: ReadTlogStatus) {}

  execute(): Promise<TlogStatus> {
    return this.read();
  }
}

export function headProofText({ cut, entry, checkpoint, number, orgs, directoryPath, path, note }: HeadProof): string {
  const directory = directoryPath.map((hash) => hash.toString('base64'));
  const extra = Buffer.from(JSON.stringify({ entry, number, orgs, checkpoint, directory }));
  return tlogProofText({ extra, index: cut - 1, path, note });
}
