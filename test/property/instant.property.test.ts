import { isFinerThanMs, parseInstant, readInstant } from '../../src/model/instant.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';

const two = (value: number) => String(value).padStart(2, '0');
const part = (max: number, min = 0) => fc.integer({ min, max });

const zone = fc.oneof(
  fc.constant('Z'),
  fc
    .tuple(fc.constantFrom('+', '-'), part(23), part(59))
    .map(([sign, hour, minute]) => `${sign}${two(hour)}:${two(minute)}`),
);
const fraction = fc.oneof(
  fc.constant(''),
  fc
    .tuple(part(999), fc.constantFrom(1, 2, 3))
    .map(([ms, digits]) => `.${String(ms).padStart(3, '0').slice(0, digits)}`),
);

/** A day of the calendar, a time of the day, an offset. */
const instant = fc
  .record({
    day: fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }),
    time: fc.tuple(part(23), part(59), part(59)).map((parts) => parts.map(two).join(':')),
    fraction,
    zone,
  })
  .map(({ day, time, fraction, zone }) => ({
    day,
    text: `${day.toISOString().slice(0, 10)}T${time}${fraction}${zone}`,
  }));

test('an instant is read as Date reads it', () => {
  fc.assert(
    fc.property(instant, ({ text }) => {
      expect(parseInstant(text)).toBe(new Date(text).getTime());
    }),
    seeded(3_000),
  );
});

test('clients may write t or a blank, and z; members of groups are found by T and Z alone', () => {
  fc.assert(
    fc.property(instant, fc.constantFrom('T', 't', ' '), fc.boolean(), ({ text }, letter, isLower) => {
      const other = `${text.slice(0, 10)}${letter}${text.slice(11)}`.replace(/Z$/, isLower ? 'z' : 'Z');
      expect(readInstant(other)).toBe(parseInstant(text));
      expect(parseInstant(other)).toBe(other === text ? parseInstant(text) : undefined);
    }),
    seeded(1_000),
  );
});

test('digits below the millisecond are cut off', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }),
      part(20, 1),
      part(9, 1),
      (date, zeros, digit) => {
        const text = date.toISOString().slice(0, -1);
        expect(parseInstant(`${text}${'0'.repeat(zeros)}Z`)).toBe(date.getTime());
        expect(isFinerThanMs(`${text}${'0'.repeat(zeros)}Z`)).toBe(false);
        expect(parseInstant(`${text}${'0'.repeat(zeros - 1)}${digit}Z`)).toBe(date.getTime());
        expect(isFinerThanMs(`${text}${'0'.repeat(zeros - 1)}${digit}+02:00`)).toBe(true);
      },
    ),
    seeded(1_000),
  );
});

test('a date that the calendar does not have is refused', () => {
  fc.assert(
    fc.property(part(9999, 1), part(99), part(99), (year, month, day) => {
      const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
      const real = new Date(Date.UTC(2000, month - 1, day));
      real.setUTCFullYear(year, month - 1, day);
      const exists =
        month >= 1 && month <= 12 && day >= 1 && real.getUTCMonth() === month - 1 && real.getUTCDate() === day;
      expect(parseInstant(`${date}T12:00:00Z`) !== undefined).toBe(exists);
    }),
    seeded(3_000),
  );
});

test('a time that the day does not have is refused', () => {
  fc.assert(
    fc.property(part(99), part(99), part(99), part(99), part(99), (hour, minute, second, zoneHour, zoneMinute) => {
      const text = `2026-06-15T${two(hour)}:${two(minute)}:${two(second)}+${two(zoneHour)}:${two(zoneMinute)}`;
      const exists = hour < 24 && minute < 60 && second < 60 && zoneHour < 24 && zoneMinute < 60;
      expect(parseInstant(text) !== undefined).toBe(exists);
    }),
    seeded(3_000),
  );
});

test('an instant with a character too many, too few or another is no instant, or is the one that Date reads', () => {
  fc.assert(
    fc.property(
      instant,
      fc.nat(),
      fc.constantFrom('', ' ', 'T', 'Z', '+', '-', ':', '.', '0', '9', '٣', '\n', 't', ','),
      (from, place, char) => {
        const at = place % (from.text.length + 1);
        const text = from.text.slice(0, at) + char + from.text.slice(at + (place % 2));
        const read = parseInstant(text);
        if (read !== undefined) {
          expect(text).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
          expect(read).toBe(Date.parse(text.replace(/(\.\d{3})\d+/, '$1')));
        }
      },
    ),
    seeded(3_000),
  );
});

test('the first and the last millisecond of the years 0001 to 9999 are the ends', () => {
  expect(parseInstant('0001-01-01T00:00:00Z')).toBe(Date.parse('0001-01-01T00:00:00.000Z'));
  expect(parseInstant('9999-12-31T23:59:59.999Z')).toBe(253_402_300_799_999);
  expect(parseInstant('0001-01-01T00:59:59.999+01:00')).toBeUndefined();
  expect(parseInstant('9999-12-31T23:00:00-01:00')).toBeUndefined();
});
