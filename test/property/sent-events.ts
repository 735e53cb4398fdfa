import fc from '../support/fast-check.js';
import { jsonObject, naming, unicode } from './arbitraries.js';

const length = (unit: string) => fc.constantFrom(1, 5, 1_023, 1_024).map((count) => unit.repeat(count));
const text = fc.oneof(unicode({ maxLength: 40 }), fc.constantFrom('a', 'ß', '😀', '\u0000').chain(length));
const name = fc.oneof(naming, fc.constantFrom('a', '日', '😀').chain(length));
const instant = fc
  .date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true })
  .map((date) => date.toISOString());

const optional = <T extends object>(members: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(members, { requiredKeys: [], noNullPrototype: true });

const resource = optional({ id: name, name, type: name, data: jsonObject }).filter(
  (one) => one['id'] !== undefined || one['name'] !== undefined,
);

/** Events that the specification allows. */
export const sound = fc.record(
  {
    resource,
    id: text,
    eventTime: instant,
    postedTime: text,
    receivedTime: text,
    requestId: text,
    context: optional({
      org: text,
      name: text,
      remoteIp: text,
      eventSource: text,
      location: text,
      gvcAlias: text,
      podId: text,
      publisher: optional({ link: text, keyId: text, remoteIp: text }),
      data: jsonObject,
    }),
    subject: optional({ email: text, name: text, claims: jsonObject, data: jsonObject }),
    action: optional({ type: text, data: jsonObject }),
    result: optional({ status: text, message: text }),
  },
  { requiredKeys: ['resource'], noNullPrototype: true },
);

/** What stands in place of a member, sound or not. */
export const anything = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1.5, '', [], {}, [{}], { name: 'x' }, { id: '' }),
  text,
  fc.constantFrom('a', '😀', '日').map((unit) => unit.repeat(1_025)),
  fc.constantFrom('\n', '\u007f', '\u009f', '\u00a0', '\u2028').map((char) => `a${char}b`),
  instant,
  fc.constantFrom('2026-02-30T00:00:00Z', '2026-01-01', '2026-01-01T00:00:00.1234Z', '0000-01-01T00:00:00Z'),
  fc.array(jsonObject, { maxLength: 2 }),
);

const MEMBERS = [
  'id',
  'name',
  'type',
  'data',
  'email',
  'claims',
  'status',
  'message',
  'remoteIp',
  'eventTime',
  'resource',
  'context',
];
/** Names of an object's own methods are left out: class-transformer does not show them to class-validator. */
const unknownName = fc.string({ minLength: 1, maxLength: 8 }).filter((one) => !(one in Object.prototype));

interface Mutation {
  readonly where: number;
  readonly how: 'replace' | 'remove' | 'add';
  readonly member: string;
  readonly value: unknown;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  where: fc.nat(100),
  how: fc.constantFrom<Mutation['how']>('replace', 'replace', 'remove', 'add'),
  member: fc.oneof(fc.constantFrom(...MEMBERS), unknownName),
  value: anything,
});

/** Changes one member of the event or of one of the objects right in it. */
function mutate(event: Record<string, unknown>, { where, how, member, value }: Mutation): void {
  const objects = [
    event,
    ...Object.values(event).filter((one) => typeof one === 'object' && one !== null && !Array.isArray(one)),
  ];
  const target = objects[where % objects.length] as Record<string, unknown>;
  const names = Object.keys(target);
  const chosen = names[where % Math.max(names.length, 1)];
  if (how === 'add' || chosen === undefined) target[member] = value;
  else if (how === 'remove') delete target[chosen];
  else target[chosen] = value;
}

export const mutated = fc
  .tuple(sound, fc.array(mutation, { minLength: 1, maxLength: 3 }))
  .map(([event, mutations]): Record<string, unknown> => {
    const copy = structuredClone(event) as Record<string, unknown>;
    for (const one of mutations) mutate(copy, one);
    return copy;
  });
