import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Env } from '../platform/env.js';

/**
 * Lets `svc` call the service of this machine as the root key, by the settings that the service itself reads. What is set
 * for `svc` goes first. Returns what is missing, if there is no root key.
 */
export function useLocalService(env: NodeJS.ProcessEnv): string | undefined {
  const settings = new Env(env);
  const file = join(settings.text('CONTROL_DATA_DIR', './data'), 'root.key');
  const key = settings.secret('CONTROL_ROOT_KEY') ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined);
  if (key !== undefined) env.SVC_TOKEN ||= key;
  const scheme = settings.optional('CONTROL_TLS_CERT_FILE') === undefined ? 'http' : 'https';
  const host = settings.text('CONTROL_HOST', '127.0.0.1');
  env.SVC_ENDPOINT ||= `${scheme}://${reachable(host)}:${settings.text('CONTROL_PORT', '8080')}`;
  if (env.SVC_TOKEN) return undefined;
  return `there is no root key: ${file} does not exist`;
}

/** A service that listens on all addresses is called on loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
