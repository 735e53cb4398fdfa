import { ControlError } from '../../src/contract/errors.js';
import { exactNumbers, findDuplicateName, parseJson } from '../../src/http/json/parse.js';
import fc from '../support/fast-check.js';
import { jsonValue, seeded, spelled, unicode } from './arbitraries.js';

const parseJsonText = (text: string) => parseJson(Buffer.from(text));

function refusal(text: string): ControlError | undefined {
  try {
    parseJsonText(text);
    return undefined;
  } catch (error) {
    if (error instanceof ControlError) return error;
    throw error;
  }
}

/** A generator of the same numbers for the same seed, for choices within a run. */
function chooser(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const seedling = fc.integer({ min: 0, max: 2 ** 31 });

test('a value survives, however its text is spelled', () => {
  fc.assert(
    fc.property(jsonValue, seedling, (value, seed) => {
      const text = spelled(value, chooser(seed));
      const parsed = parseJsonText(text);
      expect(JSON.stringify(parsed.value)).toBe(JSON.stringify(JSON.parse(text)));
      expect(parsed.exact).toBe(exactNumbers(parsed.value).length > 0);
    }),
    seeded(2_000),
  );
});

test('what is no JSON is refused, and what JSON.parse takes is refused for a reason', () => {
  fc.assert(
    fc.property(
      jsonValue,
      fc.nat(),
      fc.constantFrom('', '"', '}', ']', ',', ':', '\\', '0', 'e', '\u0000'),
      (value, place, noise) => {
        const whole = JSON.stringify(value);
        const cut = place % (whole.length + 1);
        const text = whole.slice(0, cut) + noise + whole.slice(cut + (place % 2));
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const refused = refusal(text);
        if (!isJson) expect(refused?.code).toBe('malformed_json');
        else if (refused) expect(refused.message).toMatch(/duplicate member|surrogate|__proto__|nested/);
      },
    ),
    seeded(2_000),
  );
});

describe('numbers', () => {
  const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength });
  const whole = fc.oneof(
    fc.constant('0'),
    digits(40).map((text) => text.replace(/^0+(?=.)/, '')),
  );
  const exponent = fc
    .tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(4))
    .map((parts) => parts.join(''));
  const number = fc
    .tuple(
      fc.constantFrom('', '-'),
      whole,
      fc.option(
        digits(40).map((text) => `.${text}`),
        { nil: '' },
      ),
      fc.option(exponent, { nil: '' }),
    )
    .map((parts) => parts.join(''));
  /** Numbers at the edge of what doubles hold, where a digit decides. */
  const edge = fc.double({ noNaN: true, noDefaultInfinity: true }).chain((value) => {
    const exact = Number.isInteger(value) ? `${BigInt(value)}.0` : value.toPrecision(17);
    const more = exact.includes('e') ? [] : [`${exact}0`, `${exact}1`];
    return fc.constantFrom(String(value), exact, ...more, String(Number.MAX_SAFE_INTEGER));
  });

  test('keep their value exactly, digit by digit', () => {
    fc.assert(
      fc.property(fc.oneof(number, edge), (text) => {
        expect(scaled(JSON.stringify(parseJsonText(text).value))).toEqual(scaled(text));
      }),
      seeded(5_000),
    );
  });

  test('stand as they were written where a double would alter them, and nowhere else', () => {
    fc.assert(
      fc.property(fc.oneof(number, edge), (text) => {
        const { value, exact } = parseJsonText(text);
        const asDouble = JSON.stringify(Number(text));
        const altered = asDouble === 'null' || !same(scaled(asDouble), scaled(text));
        expect(exact).toBe(altered);
        expect(JSON.stringify(value)).toBe(altered ? text : asDouble);
      }),
      seeded(5_000),
    );
  });

  test('keep their place in arrays and objects', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(number, edge), { minLength: 1, maxLength: 8 }), (numbers) => {
        const text = `{"a":[${numbers.join(',')}],"b":{"c":${numbers[0]}}}`;
        const out = JSON.stringify(parseJsonText(text).value);
        const [list = '', member = ''] = /^\{"a":\[(.*)\],"b":\{"c":(.*)\}\}$/.exec(out)?.slice(1) ?? [];
        expect(list.split(',').map(scaled)).toEqual(numbers.map(scaled));
        expect(scaled(member)).toEqual(scaled(numbers[0] ?? ''));
      }),
      seeded(1_000),
    );
  });

  test('keep their place in any value, beside names with escapes', () => {
    const kept = (_name: string, value: unknown, { source = '' }: { readonly source?: string }) =>
      typeof value === 'number' && !same(scaled(JSON.stringify(value) ?? ''), scaled(source))
        ? JSON.rawJSON(source)
        : value;
    const leaf = fc.oneof(
      number.filter((text) => Number.isFinite(Number(text))).map((text) => ({ text })),
      fc.constant({ text: '9007199254740993' }),
      jsonValue.map((value) => ({ text: JSON.stringify(value) })),
    );
    const nested = fc.letrec<{ readonly value: { readonly text: string } }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie('value')).map((items) => ({ text: `[${items.map(({ text }) => text).join(' ,')}]` })),
        fc.dictionary(unicode(), tie('value')).map((members) => ({
          text: `{${Object.entries(members).map(([name, { text }]) => `${JSON.stringify(name)} :${text}`)}}`,
        })),
      ),
    }));
    fc.assert(
      fc.property(nested.value, ({ text }) => {
        const refused = refusal(text);
        if (refused) return;
        expect(JSON.stringify(parseJsonText(text).value)).toBe(JSON.stringify(JSON.parse(text, kept)));
      }),
      seeded(1_000),
    );
  });

  interface Scaled {
    readonly units: bigint;
    readonly power: bigint;
  }

  /** The number as `units` times ten to the `power`, with no zero at the end of the units: one form for one number. */
  function scaled(text: string): Scaled {
    const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
    const [before = '', after = ''] = mantissa.split('.');
    let units = BigInt(before.replace('-', '') + after);
    let exponent = BigInt(power) - BigInt(after.length);
    if (units === 0n) return { units, power: 0n };
    while (units % 10n === 0n) {
      units /= 10n;
      exponent += 1n;
    }
    return { units: mantissa.startsWith('-') ? -units : units, power: exponent };
  }

  const same = (one: Scaled, other: Scaled) => one.units === other.units && one.power === other.power;
});

describe('a repeated member name', () => {
  type Step = string | number;
  const name = fc.oneof(
    unicode({ maxLength: 4 }),
    fc.constantFrom('', 'a/b', '~', '"', '\\', '{', '[0]', ':', ',', '0', 'é'),
  );

  /** A text in which one object, at a known place, has one name twice; around it, names as sound as can be. */
  const repeated = fc
    .record({
      steps: fc.array(fc.oneof(name, fc.nat(3)), { maxLength: 6 }),
      name,
      decoys: fc.array(jsonValue, { minLength: 2, maxLength: 2 }),
      seed: seedling,
    })
    .filter((one) => one.name !== '__proto__')
    .map(({ steps, name, decoys, seed }) => {
      const random = chooser(seed);
      const [first, second] = decoys.map((decoy) => spelled(decoy, random));
      const key = () => spelled(name, random);
      const other = `${JSON.stringify(`${name}!`)}:${first}`;
      let text = `{${other},${key()}:${first},${JSON.stringify(`${name}?`)}:"${'\\"'}",${key()}:${second}}`;
      for (const step of [...steps].reverse()) text = around(step, text, random);
      return { text, pointer: [...steps, name].map((step) => `/${escaped(step)}`).join('') };
    });

  function around(step: Step, inner: string, random: () => number): string {
    if (typeof step === 'number') return `[${'{"a":[1]},'.repeat(step)}${inner},{"a":1}]`;
    return `{${JSON.stringify(`${step}-`)}:[{"a":1},{"a":1}],${spelled(step, random)}:${inner},${JSON.stringify(`${step}+`)}:1}`;
  }

  const escaped = (step: Step) => String(step).replaceAll('~', '~0').replaceAll('/', '~1');

  test('is always refused, with its place', () => {
    fc.assert(
      fc.property(repeated, ({ text, pointer }) => {
        const error = refusal(text);
        expect([error?.code, error?.details]).toEqual(['malformed_json', { pointer }]);
        expect(findDuplicateName(Buffer.from(text))).toBe(pointer);
      }),
      seeded(2_000),
    );
  });
});

test('half a surrogate pair is always refused, wherever it stands', () => {
  const half = fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => `\\u${code.toString(16)}`);
  const clean = unicode({ maxLength: 5 }).map((text) => JSON.stringify(text).slice(1, -1));
  fc.assert(
    fc.property(half, clean, clean, fc.boolean(), (surrogate, before, after, inName) => {
      const text = `"${before}x${surrogate}x${after}"`;
      expect(refusal(inName ? `{${text}:1}` : `[${text}]`)?.code).toBe('validation_failed');
    }),
    seeded(500),
  );
});
