import { ServiceSecret } from '../../src/platform/service-secret.js';
import fc from '../support/fast-check.js';

const secret = new ServiceSecret('the secret of one service');
const same = new ServiceSecret('the secret of one service');
const other = new ServiceSecret('the secret of another service');

describe('sealing', () => {
  it('opens in every process that has the secret, for the same purpose and list', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.string(), (text, list) => {
        const wellFormed = Buffer.from(text).toString();
        expect(same.opened('cursor', secret.sealed('cursor', wellFormed, list), list)).toBe(wellFormed);
      }),
    );
  });

  it('does not open under another secret, purpose or list', () => {
    const sealed = secret.sealed('cursor', 'text', 'list');
    expect(other.opened('cursor', sealed, 'list')).toBeUndefined();
    expect(secret.opened('key', sealed, 'list')).toBeUndefined();
    expect(secret.opened('cursor', sealed, 'lisT')).toBeUndefined();
  });

  it('opens nothing that was made up', () => {
    fc.assert(fc.property(fc.string({ maxLength: 400 }), (text) => secret.opened('cursor', text, '') === undefined));
  });

  it('gives texts of the same length for places of any size', () => {
    const lengths = [1, 99, 12_345, 1_234_567_890].map((n) => secret.sealed('cursor', `{"after":[${n}]}`, '').length);
    expect(new Set(lengths).size).toBe(1);
  });

  it('gives the same text for the same place in the same list, and for no other', () => {
    expect(same.sealed('cursor', 'text', 'list')).toBe(secret.sealed('cursor', 'text', 'list'));
    const others = [secret.sealed('cursor', 'texT', 'list'), secret.sealed('cursor', 'text', 'lisT')];
    expect(
      new Set([secret.sealed('cursor', 'text', 'list').slice(0, 16), ...others.map((one) => one.slice(0, 16))]).size,
    ).toBe(3);
  });
});

describe('deriving', () => {
  it('gives the same in every process, and something else for each text, purpose and secret', () => {
    expect(same.derived('key', 'a')).toBe(secret.derived('key', 'a'));
    const others = [secret.derived('key', 'b'), secret.derived('cursor', 'a'), other.derived('key', 'a')];
    expect(new Set([secret.derived('key', 'a'), ...others]).size).toBe(4);
  });

  it('has 256 bits', () => {
    expect(Buffer.from(secret.derived('key', 'a'), 'base64url')).toHaveLength(32);
  });
});
