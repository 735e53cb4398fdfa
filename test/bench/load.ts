/**
 * The load generator, a process of its own: plain sockets, requests that were put together beforehand, one request at
 * a time on each connection. It does as little as it can, so that the server is what is measured.
 */
import { connect, type Socket } from 'node:net';
import type { Job, Load } from './generator.ts';

interface Run extends Job {
  readonly deadline: number;
  readonly latencies: number[];
  readonly refused: Map<string, number>;
  sent: number;
  answered: number;
}

process.on('message', (job: Job) => {
  run(job).then(
    (load) => process.send?.(load),
    (error: Error) => process.send?.({ error: error.message }),
  );
});

async function run(job: Job): Promise<Load> {
  const ports = [job.port].flat();
  const sockets = await Promise.all(
    Array.from({ length: job.connections }, (_, number) => open(ports[number % ports.length] ?? 0)),
  );
  const cpu = process.cpuUsage();
  const start = performance.now();
  const all: Run = {
    ...job,
    deadline: start + job.seconds * 1000,
    latencies: [],
    refused: new Map(),
    sent: 0,
    answered: 0,
  };
  await Promise.all(sockets.map((socket) => drive(socket, all)));
  const ms = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  for (const socket of sockets) socket.destroy();
  if (all.refused.size > 0) throw new Error(`unexpected answers: ${JSON.stringify([...all.refused])}`);
  all.latencies.sort((a, b) => a - b);
  const quantile = (share: number) => all.latencies[Math.floor(all.latencies.length * share)] ?? 0;
  return { answered: all.answered, ms, p50: quantile(0.5), p99: quantile(0.99), busy: (user + system) / 1000 / ms };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Sends one request after the other until the time is over, and waits for the last answer. */
function drive(socket: Socket, all: Run): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let answer: Buffer = Buffer.alloc(0);
    let size = 0;
    const send = () => {
      sentAt = performance.now();
      if (sentAt >= all.deadline || all.sent >= (all.most ?? Number.POSITIVE_INFINITY)) return resolve();
      socket.write(all.requests[all.sent % all.requests.length] ?? '');
      all.sent += 1;
    };
    socket.on('data', (chunk: Buffer) => {
      answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk]);
      if (size === 0) size = sizeOf(answer);
      if (size === 0 || answer.length < size) return;
      count(answer, all);
      all.latencies.push(performance.now() - sentAt);
      answer = Buffer.alloc(0);
      size = 0;
      send();
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the server closed a connection')));
    send();
  });
}

/** The size of the whole answer, 0 while its head is not there yet. */
function sizeOf(answer: Buffer): number {
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const length = /content-length: (\d+)/i.exec(answer.toString('latin1', 0, end))?.[1];
  if (length === undefined) throw new Error('an answer without Content-Length');
  return end + 4 + Number(length);
}

function count(answer: Buffer, all: Run): void {
  all.answered += 1;
  const status = answer.toString('latin1', 9, 12);
  const whole = all.ending === undefined || answer.toString('latin1', answer.length - all.ending.length) === all.ending;
  if (status === all.status && whole) return;
  const what = status === all.status ? answer.toString('latin1', Math.max(0, answer.length - 80)) : status;
  all.refused.set(what, (all.refused.get(what) ?? 0) + 1);
}
