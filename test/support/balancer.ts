import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './containers.js';

export interface Balancer {
  readonly url: string;
  stop(): Promise<void>;
}

/** `infra/balancer.mjs` in front of these addresses, once it accepts connections. */
export async function startBalancer(targets: readonly string[]): Promise<Balancer> {
  const port = await freePort();
  const child = spawn(process.execPath, [resolve('infra/balancer.mjs')], {
    env: { BALANCER_TARGETS: targets.join(','), BALANCER_PORT: String(port) },
    stdio: 'inherit',
  });
  const ended = once(child, 'exit');
  while (!(await accepts(port))) await delay(20);
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => done(true)).once('error', () => done(false));
    socket.once('connect', () => socket.destroy());
  });
}
