import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuditClient } from '../../src/client/index.js';

const HOLDER = JSON.stringify({ pid: 1, started: '1', place: 'another host' });

/** A client of a folder that a process on another host has locked. */
function locked(): { client: AuditClient; folder: string; lock: string } {
  const folder = mkdtempSync(join(tmpdir(), 'client-lock-'));
  const lock = join(folder, 'lock.3');
  writeFileSync(lock, HOLDER);
  const options = { endpoint: 'http://127.0.0.1:1', key: 'k', org: 'acme', context: 'app', spool: { folder } };
  return { client: new AuditClient(options), folder, lock };
}

it('a folder is taken over from another host when its lock is not touched for 8 seconds, and only then', async () => {
  const [ended, running] = [locked(), locked()];
  const touch = setInterval(() => utimesSync(running.lock, new Date(), new Date()), 500);
  try {
    const begun = performance.now();
    const outcomes = await Promise.allSettled([ended.client.ready(), running.client.ready()]);
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { fault: 'locked', message: expect.stringContaining('another host') } },
    ]);
    expect(performance.now() - begun).toBeGreaterThan(7_900);
    expect(readdirSync(ended.folder)).toEqual(['lock.4']);
    expect(readdirSync(running.folder)).toEqual(['lock.3']);
  } finally {
    clearInterval(touch);
    for (const { client, folder } of [ended, running]) {
      await client.close({ flushMs: 0 });
      rmSync(folder, { recursive: true });
    }
  }
});
