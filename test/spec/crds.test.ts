import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { DECLARABLE } from '../../src/cli/args/documents.js';

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
}

const FOLDER = 'infra/crds';
const definitions = new Map(
  readdirSync(FOLDER).map((file) => [file.replace('.yaml', ''), parse(readFileSync(`${FOLDER}/${file}`, 'utf8'))]),
);

/** Kubernetes: a structural schema says the type of each node. */
function untyped(schema: Schema, path: string): string[] {
  const { type, properties = {}, additionalProperties, items } = schema;
  const within = [
    ...Object.entries(properties),
    ...(additionalProperties ? [['*', additionalProperties] as const] : []),
    ...(items ? [['[]', items] as const] : []),
  ];
  return [...(type === undefined ? [path] : []), ...within.flatMap(([name, one]) => untyped(one, `${path}.${name}`))];
}

it('there is a definition for each kind that files can declare', () => {
  expect([...definitions.keys()].sort()).toEqual(DECLARABLE.map(({ name }) => name).sort());
});

describe.each([...definitions])('the definition of %s', (name, definition) => {
  const { group, names, versions } = definition.spec;

  it('has names that Kubernetes takes', () => {
    expect(definition).toMatchObject({ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' });
    expect(definition.metadata.name).toBe(`${names.plural}.${group}`);
    expect([group, names.kind, names.singular]).toEqual(['control.svc.dev', name, name]);
    for (const one of [names.plural, names.singular, names.kind]) expect(one).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
  });

  it('has one version with a structural schema', () => {
    expect(versions).toMatchObject([{ name: 'v1', served: true, storage: true }]);
    const { openAPIV3Schema: schema } = versions[0].schema;
    expect(untyped(schema, name)).toEqual([]);
    const { properties, required = [] } = schema.properties.spec;
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['description', 'tags', ...required]));
  });
});
