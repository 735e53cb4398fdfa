import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import { FORMATS } from '../../src/shapes/shape.js';

/*
 * What generators of clients, validators and people need of `docs/openapi.json`, for all that it describes. `npm run docs:check`
 * proves that it is made from the routes of today, and `npm run openapi` that it is a sound document.
 */

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly schema: Schema;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, { readonly headers?: Readonly<Record<string, Schema>> }>>;
  readonly security?: readonly Schema[];
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>>; readonly securitySchemes: Schema };
}

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as OpenApi;
const { schemas } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ at: `${method} ${path}`, path, ...operation })),
);
const parameters = operations.flatMap(({ at, parameters = [] }) => parameters.map((one) => ({ at, ...one })));
const bodies = operations.flatMap(({ at, requestBody }) =>
  Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => ({ at: `${at} ${type}`, schema })),
);

const VALUES = ['enum', 'const', 'examples', 'required'];

/** The schema and all within it, each with its place. */
function* within(at: string, schema: unknown): Generator<{ at: string; schema: Schema }> {
  if (typeof schema !== 'object' || schema === null) return;
  if (!Array.isArray(schema)) yield { at, schema: schema as Schema };
  for (const [name, part] of Object.entries(schema)) {
    if (!VALUES.includes(name)) yield* within(`${at}/${name}`, part);
  }
}

const everySchema = [
  ...within('', schemas),
  ...bodies.flatMap(({ at, schema }) => [...within(at, schema)]),
  ...parameters.flatMap(({ at, name, schema }) => [...within(`${at} ${name}`, schema)]),
];

const placesOf = (found: readonly { readonly at: string }[]) => found.map(({ at }) => at);

function parameterOf(operationId: string, name: string): Parameter | undefined {
  return parameters.find((one) => one.name === name && one.at === atOf(operationId));
}

function atOf(operationId: string): string | undefined {
  return operations.find((one) => one.operationId === operationId)?.at;
}

const ajv = new Ajv({ strict: false, schemas: [{ $id: 'api', components: { schemas } }] });
for (const [name, format] of Object.entries(FORMATS)) ajv.addFormat(name, format);
for (const name of ['date', 'date-time', 'uuid', 'binary', 'int64']) ajv.addFormat(name, true);

/** The examples of the schema that it does not accept itself. */
function unsoundExamples({ at, schema }: { readonly at: string; readonly schema: Schema }): string[] {
  const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as Schema;
  const accepts = ajv.compile(own);
  const { examples = [] } = schema as { examples?: readonly unknown[] };
  return examples
    .filter((example) => !accepts(example))
    .map((example) => `${at}: ${JSON.stringify(example)}: ${ajv.errorsText(accepts.errors)}`);
}

test('describes the operations, parameters and schemas that the tests below look at', () => {
  expect(operations.length).toBeGreaterThan(80);
  expect(parameters.length).toBeGreaterThan(200);
  expect(bodies.length).toBeGreaterThan(20);
  expect(everySchema.length).toBeGreaterThan(1_000);
});

test('gives every operation one name in camel case, which does not repeat the group it is in', () => {
  const names = operations.map(({ operationId }) => operationId);
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z]+([A-Z][a-z]+)*$/.test(name))).toEqual([]);
  const stutters = operations.filter(({ operationId, tags }) =>
    tags.some((tag) => operationId.toLowerCase().startsWith(tag.toLowerCase())),
  );
  expect(placesOf(stutters)).toEqual([]);
});

test('has a bearer token as its security, and says which operations need none', () => {
  expect(document.components.securitySchemes).toEqual({
    key: expect.objectContaining({ type: 'http', scheme: 'bearer' }),
  });
  const open = operations.filter(({ security }) => security?.length === 0);
  expect(open.map(({ operationId }) => operationId)).toEqual(
    expect.arrayContaining(['getReadiness', 'acceptInvitation']),
  );
  const others = operations.filter((one) => !open.includes(one));
  expect(others.filter(({ security }) => JSON.stringify(security) !== '[{"key":[]}]')).toEqual([]);
});

test('describes every parameter and every property', () => {
  expect(placesOf(parameters.filter(({ description }) => !description))).toEqual([]);
  const objects = everySchema.filter(({ schema }) => [schema.type].flat().includes('object'));
  const members = objects.flatMap(({ at, schema }) =>
    Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([name, one]) => ({
      at: `${at}/${name}`,
      one,
    })),
  );
  expect(members.length).toBeGreaterThan(400);
  expect(placesOf(members.filter(({ one }) => !one.description))).toEqual([]);
});

test('gives query parameters their own types: no boolean and no number is a text', () => {
  const query = parameters.filter((one) => one.in === 'query');
  const named = (names: readonly string[]) => query.filter(({ name }) => names.includes(name));
  const flags = named(['async', 'proof', 'open', 'raw']);
  const numbers = named(['page', 'pageSize', 'limit', 'last', 'pinned']);
  expect([flags.length, numbers.length].every((count) => count >= 5)).toBe(true);
  expect(new Set(flags.map(({ schema }) => schema.type))).toEqual(new Set(['boolean']));
  expect(new Set(numbers.map(({ schema }) => schema.type))).toEqual(new Set(['integer']));
  expect(parameterOf('listEvents', 'pageSize')?.schema).toMatchObject({ minimum: 1, maximum: 1000 });
  const others = query.filter(
    ({ schema: { type, pattern, textOf } }) => textOf || !type || /true|0-9/.test(`${pattern}`),
  );
  expect(placesOf(others)).toEqual([]);
});

test('says of every object whether it has other members: a free one takes anything', () => {
  const silent = everySchema.filter(
    ({ schema: { type, additionalProperties } }) =>
      [type].flat().includes('object') && additionalProperties === undefined,
  );
  expect(placesOf(silent)).toEqual([]);
  const { data } = (schemas.AuditResourceDto as { properties: Record<string, Schema> }).properties;
  expect(data).toMatchObject({ type: 'object', additionalProperties: true });
});

test('names the type of everything that is one of some values', () => {
  const untyped = everySchema.filter(
    ({ schema }) => ('enum' in schema || 'const' in schema) && schema.type === undefined,
  );
  expect(placesOf(untyped)).toEqual([]);
});

test('takes codes and permissions of later versions: their lists are open', () => {
  const { code } = (schemas.Error as { properties: Record<string, Schema> }).properties;
  expect(code).toMatchObject({ type: 'string', 'x-extensible-enum': expect.arrayContaining(['not_found']) });
  expect(code).not.toHaveProperty('enum');
  const names = everySchema.filter(
    ({ at, schema }) => at.endsWith('grantedPermissions/items') && schema['x-extensible-enum'],
  );
  expect(names).toHaveLength(1);
});

test('gives every JSON body and every parameter of a path an example', () => {
  const shown = ({ schema }: { readonly schema: Schema }) => {
    const name = String(schema.$ref ?? '').replace('#/components/schemas/', '');
    return ((schema.examples ?? schemas[name]?.examples ?? []) as readonly unknown[]).length > 0;
  };
  const json = bodies.filter(({ at }) => at.endsWith(' application/json'));
  expect(json.length).toBeGreaterThan(20);
  expect(placesOf(json.filter((body) => !shown(body)))).toEqual([]);
  expect(placesOf(parameters.filter((one) => one.in === 'path' && !shown(one)))).toEqual([]);
});

test('has only examples that their own schemas accept', () => {
  const exemplified = everySchema.filter(({ schema }) => Array.isArray(schema.examples));
  expect(exemplified.length).toBeGreaterThan(100);
  expect(exemplified.flatMap(unsoundExamples)).toEqual([]);
});

test('declares Retry-After on every 429 and 503', () => {
  const refusals = operations.flatMap(({ at, responses }) =>
    ['429', '503'].flatMap((status) => (responses[status] ? [{ at, ...responses[status] }] : [])),
  );
  expect(refusals.length).toBeGreaterThan(100);
  const silent = refusals.filter(({ headers }) => (headers?.['Retry-After'] as Schema | undefined)?.required !== true);
  expect(placesOf(silent)).toEqual([]);
});

test('does not list the parameters that a path fixes, which are refused', () => {
  const fixed = operations.filter(({ parameters = [] }) => {
    const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
    return parameters.some((one) => one.in === 'query' && inPath.includes(one.name));
  });
  expect(placesOf(fixed)).toEqual([]);
  expect(parameterOf('listEventsOfNamedResource', 'resourceId')?.in).toBe('query');
  expect(parameterOf('listEventsOfResource', 'resourceName')?.in).toBe('query');
});

test('says which integers need 64 bits, and lists no objects or arrays among several types', () => {
  const integers = everySchema.filter(({ schema }) => [schema.type].flat().includes('integer'));
  const narrow = integers.filter(({ schema: { format, maximum = Number.MAX_SAFE_INTEGER } }) => {
    return format !== 'int64' && Number(maximum) > 2 ** 31 - 1;
  });
  expect(integers.length).toBeGreaterThan(50);
  expect(placesOf(narrow)).toEqual([]);
  const mixed = everySchema.filter(({ schema: { type } }) => Array.isArray(type) && /object|array/.test(`${type}`));
  expect(placesOf(mixed)).toEqual([]);
});

test('has no rule beside a reference, of which a generator would make a type', () => {
  expect(placesOf(everySchema.filter(({ schema }) => schema.$ref && (schema.anyOf || schema.oneOf)))).toEqual([]);
});

test('names no schema as a constructor of another: a client in Go would have both', () => {
  expect(
    Object.keys(schemas).filter((name) => `${name.replace(/^New/, '')}` !== name && name.slice(3) in schemas),
  ).toEqual([]);
});
