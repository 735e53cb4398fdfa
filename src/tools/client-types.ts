import { LIMITS } from '../contract/limits.js';

/**
 * Types of what `@control-service/client` sends and reads, made from the OpenAPI document. Own code: the client uses a
 * hundredth of the document, and `openapi-typescript` makes types of all of it, with packages of its own.
 */
interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly parameters?: readonly (Pick<Schema, 'description'> & {
    readonly name: string;
    readonly in: string;
    readonly schema: Schema;
  })[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Parameters of a list that the client sets itself. */
const OWN = new Set(['order', 'page', 'pageSize', 'last', 'cursor']);

/** The module's text. Throws if the document lacks what the client uses. */
export function clientTypes(openApi: string): string {
  const { paths, components } = JSON.parse(openApi) as OpenApi;
  const publish = paths['/audit/org/{org}/auditctx/{contextName}']?.post;
  const list = paths['/audit/org/{org}']?.get;
  const read = paths['/audit/org/{org}/id/{id}']?.get;
  const sent = jsonOf(publish?.requestBody?.content);
  const envelope = components.schemas[nameOf(jsonOf(read?.responses['200']?.content))];
  const query = (list?.parameters ?? []).filter((one) => one.in === 'query' && !OWN.has(one.name));
  const filters = query.map(({ name, description, schema }) => [
    name,
    { ...(description && { description }), ...schema },
  ]);
  const declarations = new Declarations(components.schemas);
  const roots = [
    `/** An event as it is published. */\nexport type NewAuditEvent = ${declarations.typeOf(sent)};\n`,
    `/** An event as the service returns it. */\nexport type RecordedEvent = ${declarations.typeOf(envelope?.properties?.item)};\n`,
    `/** Filters of lists: exact matches, which combine with AND. */\nexport interface EventFilters ${declarations.typeOf({ properties: Object.fromEntries(filters) })}\n`,
  ];
  const head = '// Generated from `docs/openapi.json` by `npm run docs`; do not edit.\n';
  const limit = `/** What one event may have at most, as JSON. */\nexport const MAX_EVENT_BYTES = ${LIMITS.bodyBytes};\n`;
  return [head, limit, ...roots, ...declarations.all()].join('\n');
}

function jsonOf(content: Content | undefined): Schema {
  const schema = content?.['application/json']?.schema;
  if (!schema) throw new Error('the OpenAPI document lacks an operation that the client calls');
  return schema;
}

const nameOf = ({ $ref = '' }: Schema): string => $ref.slice($ref.lastIndexOf('/') + 1);

/** The schemas that are referred to, each declared once. */
class Declarations {
  readonly #declared = new Map<string, string>();

  constructor(readonly schemas: Readonly<Record<string, Schema>>) {}

  all(): string[] {
    return [...this.#declared].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  /** `indent`: of the line that the type is on. */
  typeOf(schema: Schema | undefined, indent = ''): string {
    if (!schema) throw new Error('the OpenAPI document lacks a schema that the client uses');
    const { $ref, type, items, properties, additionalProperties } = schema;
    if ($ref !== undefined) return this.#declare(nameOf(schema));
    if ('const' in schema) return JSON.stringify(schema.const);
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
    const choices = schema.oneOf ?? (properties ? undefined : schema.anyOf);
    if (choices) return choices.map((one) => this.typeOf(one, indent)).join(' | ');
    if (properties) return this.#object(schema, indent);
    if (typeof type === 'object') return type.map((one) => this.typeOf({ ...schema, type: one }, indent)).join(' | ');
    if (type === 'array') return `readonly (${this.typeOf(items ?? {}, indent)})[]`;
    if (type === 'integer') return 'number';
    if (type !== 'object') return type ?? 'unknown';
    const values = typeof additionalProperties === 'object' ? this.typeOf(additionalProperties, indent) : 'unknown';
    return `Readonly<Record<string, ${values}>>`;
  }

  #object({ properties = {}, required = [] }: Schema, indent: string): string {
    const inner = `${indent}  `;
    const lines = Object.entries(properties).map(([name, schema]) => {
      const { description } = schema;
      const comment = description
        ? `${inner}/** ${description.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */\n`
        : '';
      const type = this.typeOf(schema, inner);
      const isRequired = required.includes(name);
      return `${comment}${inner}readonly ${name}${isRequired ? '' : '?'}: ${type}${isRequired ? '' : ' | undefined'};\n`;
    });
    return `{\n${lines.join('')}${indent}}`;
  }

  #declare(name: string): string {
    if (!this.#declared.has(name)) {
      this.#declared.set(name, '');
      this.#declared.set(name, `type ${name} = ${this.typeOf(this.schemas[name])};\n`);
    }
    return name;
  }
}
