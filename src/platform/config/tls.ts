import { createSecureContext } from 'node:tls';
import type { Env } from '../env.js';

export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
  /** PEM, as the files had it at the start; the certificate may be followed by those of its issuers. */
  readonly cert: string;
  readonly key: string;
}

const CERT = 'CONTROL_TLS_CERT_FILE';
const KEY = 'CONTROL_TLS_KEY_FILE';

/** Undefined without TLS. */
export function readTls(env: Env): TlsConfig | undefined {
  const [certFile, keyFile] = [env.optional(CERT), env.optional(KEY)];
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined) env.fault(CERT, `must be set beside ${KEY}`);
  if (keyFile === undefined) env.fault(KEY, `must be set beside ${CERT}`);
  const [cert, key] = [env.file(CERT), env.file(KEY)];
  if (certFile === undefined || keyFile === undefined || cert === undefined || key === undefined) return undefined;
  const fault = tlsFault(cert, key);
  if (fault !== undefined) env.fault(CERT, fault);
  return { certFile, keyFile, cert, key };
}

/** Why the two cannot be used together, or undefined. Names nothing of what is in them. */
export function tlsFault(cert: string, key: string): string | undefined {
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `no certificate and private key in PEM, without a passphrase, that belong together (${code ?? 'unknown'})`;
  }
}
