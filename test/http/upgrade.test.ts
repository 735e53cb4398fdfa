import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { at, newOrg } from '../support/api.js';
import { startService } from '../support/service.js';

/** Makes of the read model what version 3 of the kinds would have made: without a publisher. */
function downgrade(dataDir: string): void {
  const db = new DatabaseSync(join(dataDir, 'read-model.db'));
  db.exec('DROP INDEX auditevent_publisher');
  db.exec('ALTER TABLE auditevent DROP COLUMN f_publisher');
  db.exec(`UPDATE meta SET value = '4.3' WHERE name = 'version'`);
  db.close();
}

test('a read model from before events had publishers is rebuilt at the start', async () => {
  const first = await startService();
  try {
    const before = await newOrg(first);
    const ids = [];
    for (const name of ['a', 'b', 'c']) ids.push((await before.publish({ resource: { name } })).body.id);
    const everything = (await before.list({ pageSize: '1000' })).text;
    await first.stop();
    downgrade(first.dataDir);

    const second = await startService({ dataDir: first.dataDir });
    const after = at(second, before);
    const publisher = `/org/${before.name}/serviceaccount/admin`;
    const found = (await after.list({ publisher, contextName: 'app' })).body.items.map(({ id }) => id);
    expect(found).toEqual(ids.reverse());
    expect((await after.list({ pageSize: '1000' })).text).toBe(everything);
    await second.stop();
  } finally {
    await first.remove();
  }
});
