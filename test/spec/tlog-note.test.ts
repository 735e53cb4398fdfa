import { createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { NoteInvalid, NoteSigner, openNote, parseVkey, vkeyOf } from '../../src/tlog/note.js';
import { FormatInvalid } from '../../src/tlog/text.js';
import { VECTORS } from '../support/tlog-vectors.js';

const { notes } = VECTORS;
const [{ signer, verifier, text, note } = { signer: '', verifier: '', text: '', note: '' }, other] = notes;

test('signs 20 notes as x/mod/sumdb/note does, and opens those', () => {
  expect(notes).toHaveLength(20);
  for (const { signer, verifier, text, note } of notes) {
    const key = NoteSigner.parse(signer);
    expect([key.toText(), key.vkey]).toEqual([signer, verifier]);
    expect(key.signNote(key.name, text)).toBe(note);
    expect(openNote(note, [verifier])).toEqual({ text, signatures: [{ name: key.name, vkey: verifier }] });
  }
});

test('signs for other origins with the same key', () => {
  const key = NoteSigner.generate('audit.example.com');
  const signed = key.signNote('audit.example.com/audit/org/acme/-tlog', 'a text\n');
  const vkey = vkeyOf('audit.example.com/audit/org/acme/-tlog', key.publicKey);
  expect(openNote(signed, [vkey]).text).toBe('a text\n');
  expect(() => openNote(signed, [key.vkey])).toThrow(NoteInvalid);
  expect(NoteSigner.parse(key.toText()).vkey).toBe(key.vkey);
});

test('opens the examples of C2SP signed-note and tlog-cosignature as far as their keys are known', () => {
  const example = `Ognuno sta solo sul cuor della terra
trafitto da un raggio di sole:

ed è subito sera.

— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=
`;
  expect(() => openNote(example, [verifier])).toThrow(
    'No trusted key signed the note, only quasimodo.example/salvatore+367ba04b.',
  );
});

test('has a text up to the last empty line', () => {
  const key = NoteSigner.generate('a');
  expect(openNote(key.signNote('a', 'one\n\ntwo\n'), [key.vkey]).text).toBe('one\n\ntwo\n');
  expect(() => key.signNote('a', 'one')).toThrow('must end in a newline');
});

test('refuses a note of which any character was changed', () => {
  for (let at = 0; at < note.length; at += 1) {
    const changed = note.slice(0, at) + (note[at] === 'x' ? 'y' : 'x') + note.slice(at + 1);
    expect(() => openNote(changed, [verifier])).toThrow(/Invalid|^(The note|No trusted key|The signature)/);
  }
  for (let length = 0; length < note.length; length += 1) {
    expect(() => openNote(note.slice(0, length), [verifier])).toThrow();
  }
});

test('ignores signatures of unknown keys, and refuses a wrong one of a known key beside a right one', () => {
  if (!other) throw new Error('too few notes');
  const second = NoteSigner.parse(other.signer);
  const both = note + second.signatureLine(second.name, text);
  expect(openNote(both, [verifier]).signatures).toHaveLength(1);
  expect(openNote(both, [other.verifier, verifier]).signatures.map(({ vkey }) => vkey)).toEqual([
    verifier,
    other.verifier,
  ]);
  const wrong = note + second.signatureLine(second.name, 'another text\n');
  expect(openNote(wrong, [verifier]).text).toBe(text);
  expect(() => openNote(wrong, [verifier, other.verifier])).toThrow(
    `The signature of ${second.name} is not one of this note`,
  );
});

test('counts a repeated signature once', () => {
  const line = note.slice(note.lastIndexOf('\n—') + 1);
  expect(openNote(note + line, [verifier]).signatures).toHaveLength(1);
  expect(() => openNote(note + line.repeat(100), [verifier])).toThrow('more than 100 signatures');
});

test('verifies a cosignature with its time', () => {
  const [seed, name] = [Buffer.alloc(32, 3), 'witness.example.com/w1'];
  const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  const vkey = vkeyOf(name, publicKey, 4);
  const seconds = Buffer.alloc(8);
  seconds.writeBigUInt64BE(1_679_315_147n);
  const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1679315147\n${text}`), key);
  const line = (time: Buffer) =>
    `— ${name} ${Buffer.concat([parseVkey(vkey).id, time, signature]).toString('base64')}\n`;
  expect(openNote(note + line(seconds), [vkey, verifier]).signatures).toEqual([
    { name: parseVkey(verifier).name, vkey: verifier },
    { name, vkey, time: 1_679_315_147_000 },
  ]);
  const later = Buffer.alloc(8);
  later.writeBigUInt64BE(1_679_315_148n);
  expect(() => openNote(note + line(later), [vkey, verifier])).toThrow(`The signature of ${name}`);
});

test('refuses keys whose text is damaged, and never shows a secret', () => {
  const id = parseVkey(verifier).id.toString('hex');
  expect(() => parseVkey(verifier.replace(id, '00000000'))).toThrow(`has the id 00000000, not ${id}`);
  expect(() => parseVkey('a+b')).toThrow('is not a verifier key');
  expect(() => parseVkey(vkeyOf('a', Buffer.alloc(32), 6))).toThrow('has the signature type 6');
  for (const damaged of [signer.replace('PRIVATE', 'PUBLIC'), `${signer.slice(0, -4)}AAA=`, '', signer.slice(0, -8)]) {
    let message = '';
    try {
      NoteSigner.parse(damaged);
    } catch (error) {
      expect(error).toBeInstanceOf(FormatInvalid);
      message = String(error);
    }
    expect(message).toContain('The signing key');
    expect(message).not.toContain(signer.slice(-30, -10));
  }
});
