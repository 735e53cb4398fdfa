import { Injectable } from '@nestjs/common';
import { within } from '../platform/waiting.js';

/**
 * The publishes of this process that the log has not taken or refused yet, by organization. A broker may keep one waiting
 * for long: a change that takes rights away is not answered before those that came before it.
 */
@Injectable()
export class AppendsUnderWay {
  private readonly byOrg = new Map<string, Set<Promise<unknown>>>();

  note<Result>(org: string, append: Promise<Result>): Promise<Result> {
    const appends = this.byOrg.get(org) ?? new Set();
    this.byOrg.set(org, appends.add(append));
    const settled = () => {
      appends.delete(append);
      if (appends.size === 0 && this.byOrg.get(org) === appends) this.byOrg.delete(org);
    };
    append.then(settled, settled);
    return append;
  }

  /** Resolves when all that are under way at the call have ended: whether in time. */
  async settled(org: string, timeoutMs: number): Promise<boolean> {
    const appends = this.byOrg.get(org);
    if (!appends) return true;
    const ended = Promise.allSettled(appends).then(() => true);
    return within(timeoutMs, ended, false);
  }
}
