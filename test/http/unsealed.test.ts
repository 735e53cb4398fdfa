import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newOrg, type Refusal } from '../support/api.js';
import { checkpointed, SEALED_OFTEN } from '../support/proofs.js';
import { startService } from '../support/service.js';

test('without the key that signs, proofs are refused with the reason, and the process is ready with a warning', async () => {
  let service = await startService({ env: SEALED_OFTEN });
  const { dataDir } = service;
  const org = await newOrg(service);
  const { body: published } = await org.publish({ resource: { name: 'n' } });
  await checkpointed(org);
  await service.stop();
  rmSync(join(dataDir, 'checkpoint.key'));
  service = await startService({ env: SEALED_OFTEN, dataDir });
  const read = async (path: string) => {
    const response = await fetch(service.url + path, { headers: { authorization: `Bearer ${org.api.key}` } });
    return { status: response.status, text: await response.text() };
  };
  const paths = [`${org.audit}/-export?proof=true`, `${org.audit}/id/${published.id}/-proof`];
  const reason = 'checkpoint.key is missing: put the key back';

  for (const path of paths) {
    let { status, text } = await read(path);
    // Until the first term has begun.
    while ((JSON.parse(text) as Refusal).code === 'not_integrated') ({ status, text } = await read(path));
    expect([path, status, JSON.parse(text)]).toMatchObject([path, 503, { code: 'not_sealed' }]);
    expect(text).toContain(reason);
    expect(text).not.toContain(dataDir);
  }
  const ready = await read('/health/ready');
  expect([ready.status, ready.text]).toEqual([200, expect.stringContaining(reason)]);
  expect((await read('/metrics')).text).toContain('control_tlog_diverged 1\n');
  await service.remove();
});
