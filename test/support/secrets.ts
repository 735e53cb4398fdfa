/** A root key and a service secret for tests; they open nothing else. */
export const TEST_SECRETS = {
  CONTROL_ROOT_KEY: 'root-key-of-the-tests-0123456789abcdef',
  CONTROL_SECRET: 'service-secret-of-the-tests-0123456789',
} as const;
