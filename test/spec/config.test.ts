import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { USUAL_QUOTAS } from '../../src/contract/limits.js';
import { ConfigError, readConfig } from '../../src/platform/config/config.js';
import { TEST_SECRETS } from '../support/secrets.js';

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      rootKey: undefined,
      secret: undefined,
      syncTimeoutMs: 5000,
      drainMs: 0,
      cluster: undefined,
      roles: new Set(['api', 'projector']),
      trustedProxies: [],
      corsOrigins: [],
      rateLimit: 0,
      keyMaxDays: undefined,
      readsPerOrg: 8,
      requestBudgetMs: 10_000,
      badKeysPerMinute: 300,
      quotas: USUAL_QUOTAS,
      memory: expect.any(Number),
      maxConnections: 10_000,
      maxConnectionsPerAddress: 1_000,
      tls: undefined,
      logLevel: 'info',
      smtp: undefined,
      mail: { perAddress: 5, perOrg: 100 },
      tlog: {
        ...{ intervalMs: 5_000, origin: undefined, keyFile: undefined, isPublic: false },
        ...{ policy: undefined, anchors: [], anchorIntervalMs: 3_600_000 },
      },
    });
  });

  it('takes a quota for each kind, of at least one', () => {
    const env = { CONTROL_QUOTA_GROUPS: '12', CONTROL_QUOTA_ORGS: '3' };
    expect(readConfig(env).quotas).toEqual({ ...USUAL_QUOTAS, group: 12, org: 3 });
    expect(() => readConfig({ CONTROL_QUOTA_USERS: '0' })).toThrow(
      'CONTROL_QUOTA_USERS: must be a whole number from 1',
    );
  });

  it('takes the longest life of a key in days, 0 for none', () => {
    expect(readConfig({ CONTROL_KEY_MAX_DAYS: '90' }).keyMaxDays).toBe(90);
    expect(readConfig({ CONTROL_KEY_MAX_DAYS: '0' }).keyMaxDays).toBeUndefined();
    expect(() => readConfig({ CONTROL_KEY_MAX_DAYS: '90d' })).toThrow('CONTROL_KEY_MAX_DAYS: must be a whole number');
  });

  it('takes an empty variable for an absent one', () => {
    expect(readConfig({ CONTROL_PORT: '', CONTROL_ROOT_KEY: '' })).toEqual(readConfig({}));
  });

  it('names every fault at once, and repeats no value', () => {
    const env = {
      CONTROL_PORT: '70000',
      CONTROL_SYNC_TIMEOUT_MS: 'soon',
      CONTROL_STORE: 'floppy',
      CONTROL_ROLES: 'api,clown',
      CONTROL_ROOT_KEY: 'a secret with\nspaces',
      CONTROL_RATE_LIMIT: '-1',
      CONTROL_BAD_KEYS_PER_MINUTE: '0.5',
      CONTROL_MAX_CONNECTIONS: '0x',
      CONTROL_TRUSTED_PROXIES: '10.0.0.0/33, everybody',
    };
    expect(() => readConfig(env)).toThrow(ConfigError);
    try {
      readConfig(env);
    } catch (error) {
      const { faults, message } = error as ConfigError;
      expect(faults.map((fault) => fault.split(':')[0])).toEqual([
        'CONTROL_STORE',
        'CONTROL_ROLES',
        'CONTROL_PORT',
        'CONTROL_ROOT_KEY',
        'CONTROL_SYNC_TIMEOUT_MS',
        'CONTROL_RATE_LIMIT',
        'CONTROL_BAD_KEYS_PER_MINUTE',
        'CONTROL_MAX_CONNECTIONS',
        'CONTROL_TRUSTED_PROXIES',
      ]);
      for (const value of Object.values(env)) expect(message).not.toContain(value);
    }
  });

  it('drains a process that has balancers in front of it, and no other', () => {
    const cluster = {
      CONTROL_STORE: 'cluster',
      CONTROL_ROOT_KEY: TEST_SECRETS.CONTROL_ROOT_KEY,
      CONTROL_SECRET: TEST_SECRETS.CONTROL_SECRET,
      CONTROL_KAFKA_BROKERS: 'kafka:9092',
      CONTROL_ELASTICSEARCH_URL: 'http://elasticsearch:9200',
    };
    expect(readConfig({}).drainMs).toBe(0);
    expect(readConfig(cluster).drainMs).toBe(5_000);
    expect(readConfig({ ...cluster, CONTROL_ROLES: 'projector' }).drainMs).toBe(0);
    expect(readConfig({ CONTROL_DRAIN_MS: '250' }).drainMs).toBe(250);
    expect(() => readConfig({ CONTROL_DRAIN_MS: '-1' })).toThrow('CONTROL_DRAIN_MS: must be a whole number');
  });

  it('needs both roles on the embedded store, which is one process', () => {
    expect(() => readConfig({ CONTROL_ROLES: 'api' })).toThrow(/needs both roles/);
  });

  const smtp = { CONTROL_SMTP_URL: 'smtp://mail.example', CONTROL_SMTP_FROM: 'no-reply@acme.example' };

  it.each([
    ['smtp://mail.example', { host: 'mail.example', port: undefined, secure: false, auth: undefined }],
    ['smtps://mail.example:4650/', { host: 'mail.example', port: 4650, secure: true, auth: undefined }],
    ['smtp://[::1]:25', { host: '::1', port: 25, secure: false, auth: undefined }],
    [
      'smtp://me%40acme:p%3Aw@mail.example',
      { host: 'mail.example', port: undefined, secure: false, auth: { user: 'me@acme', pass: 'p:w' } },
    ],
  ])('takes the mail server %s', (url, server) => {
    const from = { name: '', address: 'no-reply@acme.example' };
    expect(readConfig({ ...smtp, CONTROL_SMTP_URL: url }).smtp).toEqual({ ...server, from });
  });

  it.each([
    ['no-reply@acme.example', '', 'no-reply@acme.example'],
    ['Acme, Inc. <no-reply@acme.example>', 'Acme, Inc.', 'no-reply@acme.example'],
    ['<no-reply@acme.example>', '', 'no-reply@acme.example'],
  ])('takes the sender %s', (sender, name, address) => {
    expect(readConfig({ ...smtp, CONTROL_SMTP_FROM: sender }).smtp?.from).toEqual({ name, address });
  });

  it.each([
    ['CONTROL_SMTP_URL', ''],
    ['CONTROL_SMTP_URL', 'mail.example:25'],
    ['CONTROL_SMTP_URL', 'https://mail.example'],
    ['CONTROL_SMTP_URL', 'smtp://'],
    ['CONTROL_SMTP_URL', 'smtp://user:%zz@mail.example'],
    ['CONTROL_SMTP_URL', 'smtp://mail.example/?tls.rejectUnauthorized=false'],
    ['CONTROL_SMTP_FROM', ''],
    ['CONTROL_SMTP_FROM', 'Acme'],
    ['CONTROL_SMTP_FROM', 'a@acme.example, b@acme.example'],
    ['CONTROL_SMTP_FROM', 'a@acme.example>'],
    ['CONTROL_SMTP_FROM', 'Acme\r\nBcc: eve <a@acme.example>'],
  ])('names %s=%j, without the value', (name, value) => {
    try {
      readConfig({ ...smtp, [name]: value });
      throw new Error('the value was taken');
    } catch (error) {
      const { faults, message } = error as ConfigError;
      expect(faults?.map((fault) => fault.split(':')[0])).toEqual([name]);
      if (value.length > 7) expect(message).not.toContain(value);
    }
  });

  const cluster = {
    CONTROL_STORE: 'cluster',
    CONTROL_ROLES: 'api',
    ...TEST_SECRETS,
    CONTROL_KAFKA_BROKERS: 'kafka-1:9092, kafka-2:9092',
    CONTROL_ELASTICSEARCH_URL: 'https://search.example:9200',
  };

  it('takes a folder for the snapshot of a process', () => {
    expect(readConfig({ ...cluster, CONTROL_SNAPSHOT_DIR: '/data' }).cluster?.snapshotDir).toBe('/data');
  });

  it('takes the addresses of a cluster, and has a default for all else', () => {
    const config = readConfig(cluster);
    expect(config.roles).toEqual(new Set(['api']));
    expect(config.cluster).toEqual({
      snapshotDir: undefined,
      kafka: {
        brokers: ['kafka-1:9092', 'kafka-2:9092'],
        topicPrefix: '',
        replication: 3,
        partitions: undefined,
        deleteExpired: false,
        tls: undefined,
        sasl: undefined,
      },
      elasticsearch: {
        nodes: ['https://search.example:9200'],
        indexPrefix: 'control-',
        shards: 1,
        replicas: 1,
        ca: undefined,
        auth: undefined,
      },
    });
  });

  it.each([
    ['CONTROL_KAFKA_BROKERS', ''],
    ['CONTROL_KAFKA_BROKERS', 'kafka'],
    ['CONTROL_KAFKA_REPLICATION', '2'],
    ['CONTROL_KAFKA_PARTITIONS', '0'],
    ['CONTROL_KAFKA_TOPIC_PREFIX', '../'],
    ['CONTROL_KAFKA_TLS', 'yes'],
    ['CONTROL_KAFKA_DELETE_EXPIRED', 'yes'],
    ['CONTROL_KAFKA_CA_FILE', '/no/such/file'],
    ['CONTROL_KAFKA_PASSWORD', 'without a user'],
    ['CONTROL_ELASTICSEARCH_URL', 'search.example:9200'],
    ['CONTROL_ELASTICSEARCH_URL', 'https://user:secret@search.example'],
    ['CONTROL_ELASTICSEARCH_INDEX_PREFIX', '-Upper'],
    ['CONTROL_ELASTICSEARCH_PASSWORD', 'without a user'],
    ['CONTROL_ROOT_KEY', ''],
    ['CONTROL_SECRET', ''],
  ])('names %s=%j of a cluster, without the value', (name, value) => {
    const refused = () => readConfig({ ...cluster, [name]: value });
    expect(refused).toThrow(ConfigError);
    try {
      refused();
    } catch (error) {
      expect((error as ConfigError).message).toContain(
        name === 'CONTROL_KAFKA_PASSWORD' ? 'CONTROL_KAFKA_' : name.split('_').slice(0, 2).join('_'),
      );
      if (value.length > 5) expect((error as ConfigError).message).not.toContain(value);
    }
  });
});

describe('the secrets of the configuration', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-secrets-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const faultsOf = (env: Record<string, string>) => {
    try {
      readConfig(env);
      return [];
    } catch (error) {
      return (error as ConfigError).faults;
    }
  };

  it.each([
    'a',
    'password1password1password1password1',
    'compose-root-key-change-me',
    'a'.repeat(1_000),
    '01'.repeat(64),
    'qwertyuiopasdfghjkl',
    '1234567890'.repeat(3),
  ])('refuses %j, which can be guessed, and says how to make another', (weak) => {
    for (const name of ['CONTROL_ROOT_KEY', 'CONTROL_SECRET']) {
      const [fault, ...others] = faultsOf({ [name]: weak });
      expect(others).toEqual([]);
      expect(fault).toContain(`${name}: can be guessed: it has fewer than 128 bits`);
      expect(fault).toContain('openssl rand -hex 32');
      expect(fault).not.toContain(weak.length > 1 ? weak : '"a"');
    }
  });

  it('takes 128 random bits and more in every usual form', () => {
    for (let n = 0; n < 500; n += 1) {
      for (const [form, least] of [
        ['hex', 16],
        ['base64', 24],
        ['base64url', 24],
      ] as const) {
        const bytes = randomBytes(n % 2 ? least : 32);
        expect(faultsOf({ CONTROL_ROOT_KEY: bytes.toString(form), CONTROL_SECRET: bytes.toString(form) })).toEqual([]);
      }
    }
  });

  it('reads them from files, with a line end or without', () => {
    const file = join(folder, 'root');
    writeFileSync(file, `${TEST_SECRETS.CONTROL_ROOT_KEY}\n`);
    expect(readConfig({ CONTROL_ROOT_KEY_FILE: file }).rootKey).toBe(TEST_SECRETS.CONTROL_ROOT_KEY);
    expect(readConfig({ CONTROL_SECRET_FILE: file }).secret).toBe(TEST_SECRETS.CONTROL_ROOT_KEY);
  });

  it('names the file that is missing, empty, weak, or given twice', () => {
    const file = join(folder, 'weak');
    writeFileSync(file, 'weak\n');
    const empty = join(folder, 'empty');
    writeFileSync(empty, '\n');
    const missing = join(folder, 'missing');
    expect(faultsOf({ CONTROL_ROOT_KEY_FILE: file })[0]).toMatch(/^CONTROL_ROOT_KEY_FILE: can be guessed/);
    expect(faultsOf({ CONTROL_ROOT_KEY_FILE: empty })[0]).toMatch(/^CONTROL_ROOT_KEY_FILE: the file is empty/);
    expect(faultsOf({ CONTROL_SECRET_FILE: missing })[0]).toMatch(/^CONTROL_SECRET_FILE: the file cannot be read/);
    writeFileSync(file, TEST_SECRETS.CONTROL_SECRET);
    const twice = faultsOf({ CONTROL_SECRET_FILE: file, CONTROL_SECRET: TEST_SECRETS.CONTROL_SECRET });
    expect(twice).toEqual(['CONTROL_SECRET: may not be set beside CONTROL_SECRET_FILE; keep one of them']);
  });
});

describe('credentials in files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-credentials-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const written = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const cluster = {
    CONTROL_STORE: 'cluster',
    ...TEST_SECRETS,
    CONTROL_KAFKA_BROKERS: 'kafka:9092',
    CONTROL_KAFKA_USERNAME: 'svc',
    CONTROL_ELASTICSEARCH_URL: 'https://search.example:9200',
  };

  it('are read without the white space around them', () => {
    const config = readConfig({
      ...cluster,
      CONTROL_KAFKA_PASSWORD_FILE: written('kafka', 'pass word\n'),
      CONTROL_ELASTICSEARCH_API_KEY_FILE: written('key', ' a2V5\n'),
    });
    expect(config.cluster?.kafka.sasl).toMatchObject({ username: 'svc', password: 'pass word' });
    expect(config.cluster?.elasticsearch.auth).toEqual({ apiKey: 'a2V5' });
  });

  it.each([
    ['beside the variable', { CONTROL_KAFKA_PASSWORD: 'the secret' }, 'the other secret'],
    ['empty', {}, '\n'],
  ])('are refused %s, and not repeated', (_what, env, text) => {
    const read = () => readConfig({ ...cluster, ...env, CONTROL_KAFKA_PASSWORD_FILE: written('one', text) });
    expect(read).toThrow(/CONTROL_KAFKA_PASSWORD(_FILE)?: (may not be set beside|the file is empty)/);
    expect(read).not.toThrow(/secret/);
  });
});
