import { PATIENCE } from '../support/patience.js';

/** What the contract suites of both ports share. */

interface Harness {
  destroy(): Promise<void>;
}

/** Declares a case that runs on a store of its own, which is destroyed afterwards whatever happens. */
export type Case<H> = (name: string, body: (harness: H) => Promise<void>) => void;

export function cases<H extends Harness>(open: () => Promise<H>): Case<H> {
  return (name, body) => {
    test(name, async () => {
      const harness = await open();
      try {
        await body(harness);
      } finally {
        await harness.destroy();
      }
    });
  };
}

/** The same for cases that a harness cannot run: they show as skipped, they never pass by doing nothing. */
export function skipped<H>(): Case<H> {
  return (name) => {
    test.skip(name, () => undefined);
  };
}

/** An optional part of a harness, for a case that needs it. */
export function need<T>(part: T | undefined, name: string): T {
  if (part === undefined) throw new Error(`the harness has no ${name}: say so in \`without\``);
  return part;
}

export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + 15_000 * PATIENCE;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await sleep(2);
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What became of a promise, as a value to compare. */
export async function settled<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}
