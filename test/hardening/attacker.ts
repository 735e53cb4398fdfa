/** A thread of its own that sends requests again and again, so that who measures beside it is not slowed down by it. */
import { parentPort, workerData } from 'node:worker_threads';

export interface Sending {
  readonly url: string;
  readonly key: string;
  readonly requests: readonly {
    readonly method: string;
    readonly path: string;
    readonly type?: string;
    readonly body?: string | Uint8Array;
  }[];
  readonly atOnce: number;
}

const { url, key, requests, atOnce } = workerData as Sending;
const counts: Record<string, number> = {};
let isDone = false;
let asked = 0;
parentPort?.once('message', () => {
  isDone = true;
});

async function client(): Promise<void> {
  while (!isDone) {
    const request = requests[asked++ % requests.length];
    if (!request) return;
    const { method, path, type = 'application/json', body } = request;
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': type },
      ...(body !== undefined && { body }),
    });
    await answer.arrayBuffer();
    counts[answer.status] = (counts[answer.status] ?? 0) + 1;
  }
}

await Promise.all(Array.from({ length: atOnce }, client));
parentPort?.postMessage(counts);
