import { ConfigError, readConfig } from '../../src/config.js';

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      rootKey: undefined,
      syncTimeoutMs: 5000,
      cluster: undefined,
      roles: new Set(['api', 'projector']),
      trustedProxies: [],
      rateLimit: 0,
      badKeysPerMinute: 300,
      logLevel: 'info',
      smtp: undefined,
    });
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
        'CONTROL_TRUSTED_PROXIES',
      ]);
      for (const value of Object.values(env)) expect(message).not.toContain(value);
    }
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
    CONTROL_ROOT_KEY: 'root',
    CONTROL_KAFKA_BROKERS: 'kafka-1:9092, kafka-2:9092',
    CONTROL_ELASTICSEARCH_URL: 'https://search.example:9200',
  };

  it('takes the addresses of a cluster, and has a default for all else', () => {
    const config = readConfig(cluster);
    expect(config.roles).toEqual(new Set(['api']));
    expect(config.cluster).toEqual({
      kafka: {
        brokers: ['kafka-1:9092', 'kafka-2:9092'],
        topicPrefix: '',
        replication: 3,
        partitions: undefined,
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
    ['CONTROL_KAFKA_CA_FILE', '/no/such/file'],
    ['CONTROL_KAFKA_PASSWORD', 'without a user'],
    ['CONTROL_ELASTICSEARCH_URL', 'search.example:9200'],
    ['CONTROL_ELASTICSEARCH_URL', 'https://user:secret@search.example'],
    ['CONTROL_ELASTICSEARCH_INDEX_PREFIX', '-Upper'],
    ['CONTROL_ELASTICSEARCH_PASSWORD', 'without a user'],
    ['CONTROL_ROOT_KEY', ''],
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
