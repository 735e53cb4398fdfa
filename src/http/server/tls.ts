import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import type { SecureContextOptions, TlsOptions } from 'node:tls';
import type { Logger } from 'pino';
import { type TlsConfig, tlsFault } from '../../platform/config/config.js';

const RELOAD_MS = 5_000;
const HANDSHAKE_MS = 5_000;

/** TLS 1.2 and newer. */
export function secureOptions({ cert, key }: TlsConfig): TlsOptions {
  return { ...contextOf(cert, key), handshakeTimeout: HANDSHAKE_MS };
}

function contextOf(cert: string, key: string): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' };
}

/**
 * Loads a changed certificate and key for new connections. A pair that does not match is logged, and the old one stays.
 * The files are read each time, because swapping symbolic links does not change their times.
 */
export function reloadCertificate(server: Server, { certFile, keyFile, ...started }: TlsConfig, logger: Logger): void {
  if (!(server instanceof SecureServer)) throw new Error('only a server with TLS has a certificate');
  let seen = started.cert + started.key;
  const timer = setInterval(() => {
    try {
      const [cert, key] = [readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8')];
      if (cert + key === seen) return;
      seen = cert + key;
      const fault = tlsFault(cert, key);
      if (fault !== undefined) return logger.error({ certFile, keyFile, fault }, 'the old certificate stays in use');
      server.setSecureContext(contextOf(cert, key));
      logger.info({ certFile }, 'the new certificate is in use');
    } catch (error) {
      if (seen === '') return;
      seen = '';
      logger.error({ certFile, keyFile, err: error }, 'the old certificate stays in use: the new one cannot be read');
    }
  }, RELOAD_MS).unref();
  server.once('close', () => clearInterval(timer));
}
