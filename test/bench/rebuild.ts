import { setTimeout as delay } from 'node:timers/promises';
import { say } from './figures.ts';
import type { Measured } from './loads.ts';
import { ROOT_KEY, type Server } from './server.ts';

const POLL_MS = 20;

interface Job {
  readonly state: string;
  readonly started: string;
  readonly finished: string;
}

/** Fills the read model anew from the log, as an operator does: with the comparison at its end, and the switch. */
export async function rebuild(server: Server, events: number, label: string): Promise<Measured> {
  const headers = { authorization: `Bearer ${ROOT_KEY}` };
  const ask = async (method: 'GET' | 'POST'): Promise<Job> =>
    (await fetch(`${server.url}/-rebuild`, { method, headers })).json() as Promise<Job>;
  const before = server.cpuMs() ?? Number.NaN;
  let job = await ask('POST');
  for (; job.state === 'running'; job = await ask('GET')) await delay(POLL_MS);
  if (job.state !== 'done') throw new Error(`the rebuild failed: ${JSON.stringify(job)}`);
  const ms = Date.parse(job.finished) - Date.parse(job.started);
  const cpu = ((server.cpuMs() ?? Number.NaN) - before) / events;
  const perSecond = (events * 1000) / ms;
  say(`${label}: rebuild   ${perSecond.toFixed(0).padStart(6)} events/s, ${(cpu * 1000).toFixed(0)} us CPU an event`);
  return { events: perSecond, count: events, cpu, p50: ms, p99: ms };
}
