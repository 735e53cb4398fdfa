import type { Proven } from '../../support/proofs.js';
import type { Random } from '../../support/random.js';

interface FileTampering {
  readonly kind: string;
  /** Only of an export that leaves events out. */
  readonly isOfClosed?: true;
  tamper(proven: Proven, random: Random): Proven;
}

type Lines = { events: string[]; proof: string[] };

/** A tampering with lines; the last event may be any. */
function lines(kind: string, change: (lines: Lines, random: Random) => void): FileTampering {
  return {
    kind,
    tamper(proven, random) {
      const both = { events: linesOf(proven.events), proof: linesOf(proven.proof) };
      change(both, random);
      return { events: bytesOf(both.events), proof: bytesOf(both.proof) };
    },
  };
}

const linesOf = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n').slice(0, -1);
const bytesOf = (all: readonly string[]): Buffer => Buffer.from(all.map((line) => `${line}\n`).join(''), 'latin1');

const place = (list: readonly unknown[], random: Random): number => random.whole(0, list.length - 1);

/** Two different places. */
function places(list: readonly unknown[], random: Random): [number, number] {
  const one = place(list, random);
  return [one, (one + random.whole(1, list.length - 1)) % list.length];
}

function replaced(list: string[], at: number, change: (line: string) => string): void {
  const before = list[at] ?? '';
  list[at] = change(before);
  if (list[at] === before) throw new Error(`nothing was changed in ${before}`);
}

/** The place of a line of the proof file that begins so. */
function lineOf(proof: readonly string[], start: string): number {
  const at = proof.findIndex((line) => line.startsWith(start));
  if (at < 0) throw new Error(`the proof file has no line ${start}`);
  return at;
}

const otherCharacter = (text: string, random: Random): string => {
  const at = place([...text], random);
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
};

export const FILE_TAMPERINGS: readonly FileTampering[] = [
  {
    kind: 'a flipped bit',
    tamper({ events, proof }, random) {
      const flipped = Buffer.from(events);
      const at = random.whole(0, flipped.length - 1);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << random.whole(0, 7));
      return { events: flipped, proof };
    },
  },
  lines('a deleted line', ({ events }, random) => void events.splice(place(events, random), 1)),
  lines('an inserted line', ({ events }, random) => {
    const line = (events[place(events, random)] ?? '').replace('"n', '"m');
    events.splice(random.whole(0, events.length), 0, line);
  }),
  lines('two swapped lines', ({ events }, random) => {
    const [one, other] = places(events, random);
    [events[one], events[other]] = [events[other] ?? '', events[one] ?? ''];
  }),
  lines('a moved line', ({ events }, random) => {
    const [from, to] = places(events, random);
    events.splice(to, 0, ...events.splice(from, 1));
  }),
  lines('a repeated line', ({ events }, random) => {
    const at = place(events, random);
    events.splice(at, 0, events[at] ?? '');
  }),
  lines('a cut end', ({ events }, random) => void events.splice(random.whole(0, events.length - 1))),
  lines('an earlier time', ({ events }, random) => {
    const earlier = (time: string) => new Date(Date.parse(time) - random.whole(1, 86_400_000)).toISOString();
    const change = (_: string, time: string) => `"receivedTime":"${earlier(time)}"}`;
    replaced(events, place(events, random), (line) => line.replace(/"receivedTime":"([^"]+)"\}$/, change));
  }),
  lines('another salt', ({ events, proof }, random) => {
    const change = (_: string, salt: string) =>
      `"salt":"${otherCharacter(salt.slice(0, -1), random)}${salt.slice(-1)}"`;
    replaced(proof, place(events, random), (line) => line.replace(/"salt":"([^"]+)"/, change));
  }),
  lines('another leaf', ({ events, proof }, random) => {
    const change = (_: string, leaf: string) => `"leaf":${Number(leaf) + random.whole(1, 200)}`;
    replaced(proof, place(events, random), (line) => line.replace(/"leaf":(\d+)/, change));
  }),
  lines('a leaf that is closed', ({ events, proof }, random) => {
    // The event goes; its leaf is said to have expired, with a hash that nobody can know to be another.
    const at = place(events, random);
    const { leaf } = JSON.parse(proof[at] ?? '') as { leaf: number };
    events.splice(at, 1);
    proof.splice(at, 1);
    const hashes = [random.bytes(32).toString('base64')];
    const closed = { kind: 'closed', from: leaf, count: 1, hashes, reasons: { expired: 1 } };
    proof.splice(lineOf(proof, '{"kind":"checkpoint"'), 0, JSON.stringify(closed));
    replaced(proof, lineOf(proof, '{"kind":"exportend"'), countedDown);
  }),
  {
    ...lines('another hash of closed leaves', ({ proof }, random) => {
      const at = lineOf(proof, '{"kind":"closed"');
      const change = (_: string, hash: string) =>
        `"hashes":["${otherCharacter(hash.slice(0, 40), random)}${hash.slice(40)}"`;
      replaced(proof, at, (line) => line.replace(/"hashes":\["([^"]+)"/, change));
    }),
    isOfClosed: true,
  },
  {
    ...lines('fewer closed leaves', ({ proof }, random) => {
      const closed = proof.filter((line) => line.startsWith('{"kind":"closed"'));
      proof.splice(proof.indexOf(random.pick(closed)), 1);
    }),
    isOfClosed: true,
  },
  lines('another checkpoint', ({ proof }, random) => {
    const at = lineOf(proof, '{"kind":"checkpoint"');
    replaced(proof, at, (line) => {
      const checkpoint = JSON.parse(line) as { note: string };
      const rows = checkpoint.note.split('\n');
      const row = random.whole(0, 2);
      rows[row] = row === 1 ? String(Number(rows[1]) - 1) : otherCharacter(rows[row] ?? '', random);
      return JSON.stringify({ ...checkpoint, note: rows.join('\n') });
    });
  }),
  lines('a line deleted with its proof', ({ events, proof }, random) => {
    const at = place(events, random);
    events.splice(at, 1);
    proof.splice(at, 1);
    replaced(proof, lineOf(proof, '{"kind":"exportend"'), countedDown);
  }),
];

const countedDown = (line: string): string =>
  line.replace(/"count":(\d+)/, (_, count) => `"count":${Number(count) - 1}`);
