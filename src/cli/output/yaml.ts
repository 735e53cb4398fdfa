import { Document, Pair, Scalar, type ScalarTag, type Tags, YAMLMap, YAMLSeq } from 'yaml';
import { elements, members } from '../../contract/json-text.js';
import { escapeLines, isUnsafe } from './escape.js';

/** A number as its text: YAML's own numbers would be rounded. */
class NumberText {
  constructor(readonly text: string) {}
}

const numberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => value instanceof NumberText,
  resolve: (text) => text,
  stringify: ({ value }) => (value as NumberText).text,
};

/** Several lines of which the first that is not empty begins with a space: as a block, they would lose it. */
const isIndented = (text: string): boolean => /^\n* /.test(text) && text.includes('\n');

/**
 * A string with control characters is quoted, and they are escaped: JSON's escapes mean the same in YAML. So is one that
 * the library would write as a block which says something else.
 */
const unsafeStringTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && (isUnsafe(value.replaceAll('\n', '')) || isIndented(value)),
  resolve: (text) => text,
  stringify: ({ value }) => escapeLines(JSON.stringify(value)),
};

/** YAML of a JSON text: keys in their order, numbers digit for digit. Ends with a line feed. */
export function toYaml(json: string): string {
  const customTags = (tags: Tags): Tags => [numberTag, unsafeStringTag, ...tags];
  // Texts that YAML 1.1 would read as something else (`yes`, `2024-01-01`) are quoted: many readers still do.
  const document = new Document(null, { customTags, compat: 'yaml-1.1', aliasDuplicateObjects: false });
  document.contents = toNode(json.trim()) as never;
  return document.toString({ lineWidth: 0 });
}

function toNode(text: string): YAMLMap | YAMLSeq | Scalar {
  if (text.startsWith('{')) {
    const map = new YAMLMap();
    for (const { name, raw } of members(text)) map.items.push(new Pair(new Scalar(name), toNode(raw)));
    return map;
  }
  if (text.startsWith('[')) {
    const list = new YAMLSeq();
    for (const element of elements(text)) list.items.push(toNode(element));
    return list;
  }
  const isNumber = /^[-\d]/.test(text);
  return new Scalar(isNumber ? new NumberText(text) : (JSON.parse(text) as unknown));
}
