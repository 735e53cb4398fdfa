import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Env } from '../platform/env.js';

/**
 * Lets `svc` call the service of this machine as the root key, by the settings that the service itself reads. What is set
 * for `svc` goes first.
 */
export function useLocalService(env: NodeJS.ProcessEnv): void {
  const settings = new Env(env);
  const key = settings.secret('CONTROL_ROOT_KEY') ?? keptKey(settings.text('CONTROL_DATA_DIR', './data'));
  if (key !== undefined) env.SVC_TOKEN ||= key;
  const scheme = settings.optional('CONTROL_TLS_CERT_FILE') === undefined ? 'http' : 'https';
  const host = settings.text('CONTROL_HOST', '127.0.0.1');
  env.SVC_ENDPOINT ||= `${scheme}://${reachable(host)}:${settings.text('CONTROL_PORT', '8080')}`;
}

function keptKey(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, 'root.key'), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** A service that listens on all addresses is called on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
