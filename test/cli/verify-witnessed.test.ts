import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoteSigner, vkeyOf } from '../../src/tlog/note.js';
import { newOrg, type Org } from '../support/api.js';
import { checkpointed, SEALED_OFTEN } from '../support/proofs.js';
import { startService, type TestService } from '../support/service.js';
import { withTool } from '../support/tools.js';
import { builtWitness, WitnessProcess } from '../support/witness.js';
import { svc, temporaryFolder } from './support/svc.js';

const ORIGIN = 'audit.example.com/audit/-tlog';

withTool('go', 'version')('an auditor who demands a witness', () => {
  let service: TestService;
  let witness: WitnessProcess;
  let org: Org;
  const folder = temporaryFolder();
  const signer = NoteSigner.generate(ORIGIN);
  const log = vkeyOf(ORIGIN, signer.publicKey);

  /** A policy that demands the cosignature of this key. */
  const policy = (name: string, vkey: string, url = '') => {
    const file = join(folder, name);
    writeFileSync(file, `log ${log}\nwitness w ${vkey} ${url}\nquorum w\n`);
    return file;
  };
  const audit = (...args: string[]) =>
    svc(['audit', ...args], {
      env: { SVC_ENDPOINT: service.url, SVC_ORG: org.name, SVC_TOKEN: org.key, XDG_STATE_HOME: join(folder, 'state') },
    });

  beforeAll(async () => {
    witness = await new WitnessProcess(builtWitness(), 'one', [log]).start();
    const dataDir = mkdtempSync(join(tmpdir(), 'control-service-'));
    writeFileSync(join(dataDir, 'checkpoint.key'), `${signer.toText()}\n`, { mode: 0o600 });
    const CONTROL_TLOG_POLICY = policy('service-policy', witness.vkey, witness.url);
    const env = { ...SEALED_OFTEN, CONTROL_TLOG_ORIGIN: 'audit.example.com', CONTROL_TLOG_POLICY };
    service = await startService({ dataDir, env });
    org = await newOrg(service);
  });
  afterAll(async () => {
    await service?.remove();
    await witness?.stop();
  });

  const exported = async (name: string): Promise<string> => {
    const file = join(folder, name);
    expect(await audit('export', '--file', file, '--proof')).toMatchObject({ code: 0 });
    return file;
  };

  it('verifies an export with the cosignature, also while the witness is away; not with that of another', async () => {
    await org.bulk(Array.from({ length: 20 }, (_, index) => ({ resource: { name: `r${index}` } })));
    await checkpointed(org);
    const [demanding, other] = [
      policy('one', witness.vkey),
      policy('other', vkeyOf('x', NoteSigner.generate('x').publicKey, 4)),
    ];
    const verified = await audit('verify', await exported('before'), '--policy', demanding);
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^verified: .*: all \d+ events of the history\n/),
    });
    expect(verified.stdout).not.toContain('No witness');
    await witness.stop();
    await org.publish({ resource: { name: 'later' } });
    const meanwhile = await audit('verify', await exported('meanwhile'), '--policy', demanding);
    expect(meanwhile.code).toBe(0);
    const refused = await audit('verify', join(folder, 'before'), '--policy', other);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('not verified') });
    await witness.start();
    await checkpointed(org);
    const after = await audit('verify', await exported('after'), '--policy', demanding);
    expect(after).toMatchObject({ code: 0, stderr: '' });
  });
});
