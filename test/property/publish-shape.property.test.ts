import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { AuditEventDto } from '../../src/shapes/audit-event.js';
import { compileShape } from '../../src/shapes/compiled.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';
import { anything, mutated, sound } from './sent-events.js';

const compiled = compileShape(AuditEventDto);

function acceptsByClassValidator(body: unknown): boolean {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return false;
  const event = plainToInstance(AuditEventDto, body);
  return validateSync(event, { whitelist: true, forbidNonWhitelisted: true, forbidUnknownValues: true }).length === 0;
}

const acceptsByCompiled = (body: unknown): boolean => compiled(body).length === 0;

test('the compiled validator takes every event that the specification allows', () => {
  fc.assert(
    fc.property(sound, (event) => {
      expect(compiled(event)).toEqual([]);
    }),
    seeded(500),
  );
});

test('the compiled validator and class-validator agree on 3,000 bodies, many of them with faults', () => {
  const seen = { valid: 0, invalid: 0 };
  fc.assert(
    fc.property(
      fc.oneof({ weight: 2, arbitrary: sound }, { weight: 5, arbitrary: mutated }, { weight: 1, arbitrary: anything }),
      (body) => {
        const verdict = acceptsByCompiled(body);
        seen[verdict ? 'valid' : 'invalid'] += 1;
        expect(verdict).toBe(acceptsByClassValidator(body));
      },
    ),
    seeded(3_000),
  );
  expect(seen.valid).toBeGreaterThan(800);
  expect(seen.invalid).toBeGreaterThan(800);
});

test('a fault that the compiled validator names is in the body, or is a member that is missing from it', () => {
  fc.assert(
    fc.property(mutated, (body) => {
      for (const { pointer } of compiled(body)) {
        const steps = pointer
          .split('/')
          .slice(1)
          .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
        const parent = steps.slice(0, -1).reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], body);
        expect(typeof parent).toBe('object');
      }
    }),
    seeded(1_000),
  );
});

test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'])(
  'the compiled validator refuses the unknown member %s, which class-validator never sees',
  (member) => {
    const body = JSON.parse(`{"resource":{"name":"x"},"${member}":1}`);
    expect(compiled(body).map(({ pointer }) => pointer)).toEqual([`/${member}`]);
  },
);
