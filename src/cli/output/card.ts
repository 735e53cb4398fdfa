import { elements, type Member, members } from '../../contract/json-text.js';
import type { TimeStyle } from '../command.js';
import type { Style, Terminal } from '../terminal.js';
import { escapeLine } from './escape.js';
import { differenceOf } from './event-diff.js';
import { diffLines, resultStyle } from './events.js';
import { shortName, timeText } from './values.js';
import { toYaml } from './yaml.js';

/** A member by its path, with its text on the same line or with lines below it. */
interface Field {
  readonly label: string;
  readonly text?: string;
  readonly style?: Style | undefined;
  readonly below?: readonly string[];
}

/** What callers chose freely, or what has a form of its own: shown as YAML. Other objects are shown member by member. */
const FREE = new Set(['data', 'tags', 'spec', 'memberQuery', 'permissions']);
const FIRST = ['name', 'email', 'description', 'eventTime', 'action', 'result', 'resource', 'subject', 'context'];
const LAST = ['created', 'lastModified', 'version', 'requestId', 'postedTime', 'receivedTime', 'id'];
const INSTANT = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const GAP = 2;
/** Texts of members with longer names stand further right. */
const WIDEST = 40;
/** The narrowest column of texts: on a smaller terminal they are wrapped as if it had room for so many. */
const NARROWEST = 20;

/**
 * Shows one resource or event to a person: all that it has, except for links that repeat it. Unlike tables, which show
 * what many have in common.
 */
export async function showCard(terminal: Terminal, json: string, style: TimeStyle): Promise<void> {
  const fields = [...fieldsOf(json, '', style), ...changesOf(terminal, json)];
  const cells = ({ label }: Field) => escapeLine(label).length;
  const indent = Math.min(WIDEST, Math.max(0, ...fields.filter(({ text }) => text !== undefined).map(cells))) + GAP;
  const { default: wrap } = await import('wrap-ansi');
  const room = Math.max(NARROWEST, terminal.width - indent);
  const lines = fields.flatMap((field) => {
    const { label, text, style: painted, below = [] } = field;
    const name = terminal.paint('bold', escapeLine(label));
    if (text === undefined) return [name, ...below];
    const [first = '', ...others] = wrap(escapeLine(text), room, { hard: true, trim: false }).split('\n');
    const paint = (line: string) => (painted ? terminal.paint(painted, line) : line);
    const before = name + ' '.repeat(Math.max(1, indent - cells(field)));
    return [before + paint(first), ...others.map((line) => ' '.repeat(indent) + paint(line))];
  });
  await terminal.out(`${lines.join('\n')}\n`);
}

function fieldsOf(json: string, within: string, style: TimeStyle): Field[] {
  const shown = members(json).filter(({ name, raw }) => raw !== 'null' && !isRepeated(within + name));
  const inOrder = within === '' ? shown.sort((one, other) => rankOf(one) - rankOf(other)) : shown;
  return inOrder.flatMap((one) => fieldOf(one, within, style));
}

/** What people look for comes first, what the service assigned last, the rest as the service sends it. */
function rankOf({ name }: Member): number {
  const [first, last] = [FIRST.indexOf(name), LAST.indexOf(name)];
  if (first >= 0) return first;
  return FIRST.length + (last < 0 ? 0 : 1 + last);
}

const isRepeated = (path: string): boolean => path === 'links' || path === 'kind';

function fieldOf({ name, raw }: Member, within: string, style: TimeStyle): Field[] {
  const label = within + name;
  if (raw.startsWith('[')) return [listField(label, raw)];
  if (!raw.startsWith('{')) return [{ label, ...scalarField(label, raw, style) }];
  if (label === 'action.data' && isChange(raw)) return [];
  if (members(raw).length === 0) return [{ label, text: '-' }];
  return FREE.has(name) ? [{ label, below: yamlLines(raw) }] : fieldsOf(raw, `${label}.`, style);
}

/** Links by the names of what they name. */
function listField(label: string, raw: string): Field {
  const all = elements(raw);
  if (all.length === 0) return { label, text: '-' };
  if (!all.every((one) => one.startsWith('"'))) return { label, below: yamlLines(raw) };
  return { label, below: all.map((one) => `  ${escapeLine(shortName(JSON.parse(one) as string))}`) };
}

function scalarField(label: string, raw: string, style: TimeStyle): Pick<Field, 'text' | 'style'> {
  const text = raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
  if (label === 'result.status') return { text, style: resultStyle({ result: { status: text } }) };
  if (!INSTANT.test(text)) return { text: text || '-' };
  if (style !== 'age') return { text: timeText(text, style) };
  const age = timeText(text, 'age');
  return { text: `${text} (${age.startsWith('in ') ? age : `${age} ago`})` };
}

const yamlLines = (raw: string): string[] =>
  toYaml(raw)
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`);

/** Whether it says what was before and after: then the difference is shown in its place. */
function isChange(data: string): boolean {
  const names = members(data).map(({ name }) => name);
  return names.length > 0 && names.every((name) => name === 'before' || name === 'after');
}

function changesOf(terminal: Terminal, json: string): Field[] {
  const { changes } = differenceOf(json);
  return changes.length > 0 ? [{ label: 'change', below: changes.flatMap(diffLines(terminal)) }] : [];
}
