import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CONFIG = `
[tsa]
default_tsa = one
[one]
serial = serial
crypto_device = builtin
signer_cert = tsa.pem
signer_key = tsa.key
certs = ca.pem
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
accuracy = secs:1
ordering = no
tsa_name = yes
ess_cert_id_chain = no
[v3_tsa]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
`;

/** A timestamp authority (RFC 3161): `openssl ts -reply` behind HTTP. */
export class TimestampAuthority {
  readonly #folder = mkdtempSync(join(tmpdir(), 'control-tsa-'));
  readonly #server: Server;
  /** While set, it answers with this status. */
  down: number | undefined;

  constructor() {
    writeFileSync(join(this.#folder, 'tsa.cnf'), CONFIG);
    writeFileSync(join(this.#folder, 'serial'), '01\n');
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    this.#openssl('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=CA', '-days', '2');
    this.#openssl('req', ...key, '-keyout', 'tsa.key', '-out', 'tsa.csr', '-subj', '/CN=TSA');
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'tsa.cnf'];
    this.#openssl(
      'x509',
      '-req',
      '-in',
      'tsa.csr',
      ...signed,
      '-extensions',
      'v3_tsa',
      '-out',
      'tsa.pem',
      '-days',
      '2',
    );
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (this.down !== undefined || request.headers['content-type'] !== 'application/timestamp-query')
          return void response.writeHead(this.down ?? 415).end();
        writeFileSync(join(this.#folder, 'query'), Buffer.concat(chunks));
        this.#openssl('ts', '-reply', '-config', 'tsa.cnf', '-queryfile', 'query', '-out', 'reply');
        response.writeHead(200, { 'content-type': 'application/timestamp-reply' });
        response.end(readFileSync(join(this.#folder, 'reply')));
      });
    });
  }

  async start(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/tsr`);
  }

  stop(): void {
    this.#server.close();
  }

  /** What `openssl ts -verify` says about a file and its timestamp. */
  verify(file: string, reply: string): string {
    try {
      return this.#openssl('ts', '-verify', '-in', reply, '-data', file, '-CAfile', 'ca.pem');
    } catch (error) {
      return String((error as { stdout: string }).stdout);
    }
  }

  #openssl(...args: string[]): string {
    return execFileSync('openssl', args, { cwd: this.#folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }
}
