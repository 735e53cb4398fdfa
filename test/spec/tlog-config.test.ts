import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { quorumWarnings, servicePolicy, witnessesOf } from '../../src/composition/witnessing.js';
import { readConfig } from '../../src/platform/config/config.js';
import { Metrics } from '../../src/platform/metrics.js';
import { NoteSigner, vkeyOf } from '../../src/tlog/note.js';
import type { TreeStore } from '../../src/tree-store/tree-store.js';

const KEYS = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' };

describe('CONTROL_ANCHORS', () => {
  it('lists files, webhooks, timestamp authorities and buckets', () => {
    const anchors =
      'file:/mnt/worm/checkpoints.txt, https://user:pass@hooks.example.com/x?token=1,tsa:http://tsa.example.com/tsr,' +
      's3://bucket/a/b?region=eu-central-1&endpoint=https://s3.example.com&days=30, s3://other';
    const env = { CONTROL_ANCHORS: anchors, AWS_REGION: 'us-east-1', ...KEYS };
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: undefined };
    const endpoint = 'https://s3.example.com';
    expect(readConfig(env).tlog.anchors).toEqual([
      { kind: 'file', path: '/mnt/worm/checkpoints.txt' },
      { kind: 'https', url: new URL('https://user:pass@hooks.example.com/x?token=1') },
      { kind: 'tsa', url: new URL('http://tsa.example.com/tsr') },
      { kind: 's3', bucket: 'bucket', prefix: 'a/b/', region: 'eu-central-1', endpoint, days: 30, credentials },
      { kind: 's3', bucket: 'other', prefix: '', region: 'us-east-1', endpoint: undefined, days: 3650, credentials },
    ]);
  });

  it.each([
    ['http://hooks.example.com', {}, 'must list anchors'],
    ['file:relative.txt', {}, 'must list anchors'],
    ['file://host/path', {}, 'must list anchors'],
    ['ftp://host', {}, 'must list anchors'],
    ['tsa:nowhere', {}, 'must list anchors'],
    ['s3://bucket?region=r', {}, 'an s3 anchor needs AWS_ACCESS_KEY_ID'],
    ['s3://bucket', KEYS, 'an s3 anchor needs ?region=, or AWS_REGION'],
    ['s3://bucket?region=r&days=0', KEYS, 'must list anchors'],
    ['s3://bucket?region=r&endpoint=https://host/path', KEYS, 'the endpoint of an s3 anchor'],
  ])('does not take %s', (anchors, keys, fault) => {
    expect(() => readConfig({ CONTROL_ANCHORS: anchors, ...keys })).toThrow(`CONTROL_ANCHORS: ${fault}`);
  });
});

describe('CONTROL_TLOG_POLICY', () => {
  const signer = NoteSigner.generate('w.example');
  const cosigning = vkeyOf(signer.name, signer.publicKey, 0x04);

  const witnesses = (policy: string) => {
    const file = join(mkdtempSync(join(tmpdir(), 'control-policy-')), 'policy');
    writeFileSync(file, policy);
    const { tlog } = readConfig({ CONTROL_TLOG_POLICY: file });
    return witnessesOf(servicePolicy(tlog.policy ?? ''), {} as TreeStore, new Metrics(), pino({ level: 'silent' }));
  };

  it('names the witnesses that are asked', () => {
    const policy = `witness w ${cosigning} https://w.example/prefix\nquorum w\n`;
    expect(witnesses(policy).states).toEqual([{ name: 'w', fault: undefined }]);
  });

  it.each([
    [`witness w ${cosigning} https://w.example\n`, 'has no line "quorum"'],
    [`witness w ${cosigning}\nquorum w\n`, 'the quorum w cannot be reached: too few of its witnesses have a URL'],
    [`witness w ${cosigning} ftp://w.example\nquorum w\n`, 'the URL of witness w is not one of http or https'],
    [`witness w ${signer.vkey} https://w.example\nquorum none\n`, 'the key of witness w is not one of cosignatures'],
  ])('is refused: %#', (policy, fault) => {
    expect(() => witnesses(policy)).toThrow(fault);
  });

  it('warns when a checkpoint has waited for cosignatures for five minutes', () => {
    expect(quorumWarnings({ missingMs: 299_999 })).toEqual([]);
    expect(quorumWarnings({ missingMs: 300_000 })).toEqual([
      'no checkpoint was published for 5 min: too few witnesses cosign; the log of the process tells why',
    ]);
  });
});
