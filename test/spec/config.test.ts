import { ConfigError, readConfig } from '../../src/config.js';

describe('the configuration', () => {
  it('has a default for everything', () => {
    expect(readConfig({})).toEqual({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      rootKey: undefined,
      syncTimeoutMs: 5000,
      store: 'embedded',
      roles: new Set(['api', 'projector']),
      trustedProxies: [],
      rateLimit: 0,
      logLevel: 'info',
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
      CONTROL_TRUSTED_PROXIES: '10.0.0.0/33, everybody',
    };
    expect(() => readConfig(env)).toThrow(ConfigError);
    try {
      readConfig(env);
    } catch (error) {
      const { faults, message } = error as ConfigError;
      expect(faults.map((fault) => fault.split(':')[0])).toEqual([
        'CONTROL_ROLES',
        'CONTROL_STORE',
        'CONTROL_ROOT_KEY',
        'CONTROL_PORT',
        'CONTROL_SYNC_TIMEOUT_MS',
        'CONTROL_RATE_LIMIT',
        'CONTROL_TRUSTED_PROXIES',
      ]);
      for (const value of Object.values(env)) expect(message).not.toContain(value);
    }
  });

  it('needs both roles on the embedded store, which is one process', () => {
    expect(() => readConfig({ CONTROL_ROLES: 'api' })).toThrow(/needs both roles/);
  });
});
