import { createRequire } from 'node:module';

interface Parser {
  /** HashiCorp's own parser; rejects what is no HCL. Texts keep their template escapes: `$${` stands for `${`. */
  parse(file: string, text: string): Promise<{ resource?: Record<string, Record<string, unknown[]>> }>;
}

// Its types bring those of browsers along, which are not ours.
const require = createRequire(import.meta.url);
const { parse } = require('@cdktf/hcl2json') as Parser;

export interface Block {
  /** Both labels: the kind of resource, and how other blocks would name it. */
  readonly type: string;
  readonly label: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The resources that a Terraform file declares, with their values. Rejects a file that would evaluate anything. */
export async function parseTerraform(text: string): Promise<Block[]> {
  const { resource = {}, ...others } = await parse('test.tf', text);
  expect(others).toEqual({});
  return Object.entries(resource).flatMap(([type, labels]) =>
    Object.entries(labels).flatMap(([label, blocks]) =>
      blocks.map((values) => ({ type, label, values: literal(values) as Record<string, unknown> })),
    ),
  );
}

/** The value without template escapes. */
function literal(value: unknown): unknown {
  if (typeof value === 'string') {
    if (/(?<!\$)\$\{|(?<!%)%\{/.test(value)) throw new Error(`it would evaluate: ${value}`);
    return value.replaceAll('$${', () => '${').replaceAll('%%{', '%{');
  }
  if (Array.isArray(value)) return value.map(literal);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [literal(key), literal(one)]));
}
