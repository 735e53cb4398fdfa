import type { Random } from '../support/random.js';
import type { SampleExport } from '../support/tlog-export.js';

type Lines = string[];

/** What somebody may do to the files of an export. Each returns lines that differ from those it gets. */
type Tampering = (random: Random, files: { events: Lines; proof: Lines }) => void;

const leaves = (proof: Lines) => proof.findIndex((line) => line.startsWith('{"kind"'));

function changeLine(lines: Lines, at: number, change: (line: string) => string): void {
  lines[at] = change(lines[at] ?? '');
}

/** One character replaced by another. */
function flipped(random: Random, text: string): string {
  const at = random.whole(0, text.length - 1);
  return text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1);
}

function move(random: Random, lines: Lines, among = lines.length): void {
  const from = random.whole(0, among - 1);
  const [line = ''] = lines.splice(from, 1);
  lines.splice((from + random.whole(1, among - 1)) % among, 0, line);
}

const hasClosed = (proof: Lines) => proof.findIndex((line) => line.startsWith('{"kind":"closed"'));

/** One base64 character inside, so that it decodes to other bytes. */
const otherBase64 = (text: string) =>
  text.replace(/.{10}/, (start) => `${start.slice(0, 9)}${start[9] === 'A' ? 'B' : 'A'}`);

export const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  'a character of an event': (random, { events }) =>
    changeLine(events, random.whole(0, events.length - 1), (line) => flipped(random, line)),
  'a line removed': (random, { events }) => void events.splice(random.whole(0, events.length - 1), 1),
  'a line and its leaf removed': (random, { events, proof }) => {
    const at = random.whole(0, events.length - 1);
    events.splice(at, 1);
    proof.splice(at, 1);
  },
  'a line repeated': (random, { events }) => {
    const at = random.whole(0, events.length - 1);
    events.splice(random.whole(0, events.length), 0, events[at] ?? '');
  },
  'a line and its leaf repeated': (random, { events, proof }) => {
    const at = random.whole(0, events.length - 1);
    events.splice(at, 0, events[at] ?? '');
    proof.splice(at, 0, proof[at] ?? '');
  },
  'a line moved': (random, { events }) => move(random, events),
  'the end cut off': (random, { events }) => void events.splice(random.whole(0, events.length - 1)),
  'an event made later': (random, { events }) => {
    const at = random.whole(0, events.length - 1);
    events.splice(at, 0, (events[at] ?? '').replace(/"id":"[^"]*"/, '"id":"made-up"'));
  },
  'an event back-dated': (random, { events }) =>
    changeLine(events, random.whole(0, events.length - 1), (line) =>
      line.replace(/"receivedTime":"2026-03/, '"receivedTime":"2026-02'),
    ),
  'a salt': (random, { proof }) =>
    changeLine(proof, random.whole(0, leaves(proof) - 1), (line) =>
      line.replace(/"salt":"(.)/, (_, first) => `"salt":"${first === 'A' ? 'B' : 'A'}`),
    ),
  'the index of a leaf': (random, { proof }) =>
    changeLine(proof, random.whole(0, leaves(proof) - 1), (line) =>
      line.replace(/"leaf":(\d+)/, (_, leaf) => `"leaf":${Number(leaf) + random.whole(1, 200)}`),
    ),
  'the hash of closed leaves': (_, { proof }) =>
    changeLine(proof, hasClosed(proof), (line) =>
      line.replace(/"hashes":\["[^"]*"/, (hash) => `"hashes":["${otherBase64(hash.slice(11, -1))}"`),
    ),
  'closed leaves left out': (_, { proof }) => void proof.splice(hasClosed(proof), 1),
  'the size of the checkpoint': (_, { proof }) =>
    changeLine(proof, proof.length - 2, (line) =>
      line.replace(/(-tlog\\n)(\d+)/, (_all, origin, size) => `${origin}${Number(size) - 1}`),
    ),
  'the root of the checkpoint': (_, { proof }) =>
    changeLine(proof, proof.length - 2, (line) =>
      line.replace(/(-tlog\\n\d+\\n)(.{10})/, (_all, head, root) => head + otherBase64(root)),
    ),
  'the signature of the checkpoint': (_, { proof }) =>
    changeLine(proof, proof.length - 2, (line) =>
      line.replace(/(— \S+ \S{20})(.)/, (_all, start, next) => start + (next === 'A' ? 'B' : 'A')),
    ),
};

/** The files with one change. */
export function tampered(kind: string, random: Random, files: SampleExport): SampleExport {
  const lines = { events: files.events.split('\n').slice(0, -1), proof: files.proof.split('\n').slice(0, -1) };
  TAMPERINGS[kind]?.(random, lines);
  const [events, proof] = [lines.events, lines.proof].map((all) => all.map((line) => `${line}\n`).join(''));
  return { events: events ?? '', proof: proof ?? '' };
}
