import { Option } from 'clipanion';
import { path } from '../../client/api-client.js';
import { ApiError } from '../../client/errors.js';
import { nextOf, PAGE_SIZE } from '../../client/pages.js';
import { type Member, member, members } from '../../contract/json-text.js';
import type { Kind } from '../../contract/kinds.js';
import { parseTags } from '../args/assignments.js';
import { DECLARABLE, type Declared, readDeclared } from '../args/documents.js';
import { wanted } from '../args/input.js';
import { ApiCommand, onlyIn } from '../command.js';
import { changeTo } from '../edit/desired.js';
import { jsonOf, parseValue, patched, type Value } from '../edit/merge.js';
import { printLines } from '../output/document.js';
import { differenceOf } from '../output/event-diff.js';
import { diffLines } from '../output/events.js';
import { CliError, EXIT, UsageError } from '../output/failures.js';
import { objectText } from '../output/json-layout.js';
import { nameOf, type Shown } from '../output/values.js';
import { readPage } from '../page.js';
import { type ResourceCalls, resourceCalls } from './resource/calls.js';

/** What is named by others comes before those. */
const ORDER = ['domain', 'user', 'serviceaccount', 'group', 'policy'];
const rankOf = ({ name }: Kind): number => ORDER.indexOf(name);

/** How often a resource that somebody else changes at the same time is read again. */
const MOST_TRIES = 5;

type Outcome = 'created' | 'updated' | 'unchanged' | 'deleted' | 'failed';

/** What is to be done, before it is. */
interface Step {
  readonly outcome: Exclude<Outcome, 'failed'>;
  readonly before: Value;
  readonly after: Value;
  run(): Promise<unknown>;
}

class Apply extends ApiCommand {
  static override paths = [['apply']];
  static override usage = ApiCommand.Usage({
    description: 'create and update resources as files declare them',
    details:
      'Files hold what `get` writes with -o yaml, json or crd: any number of documents. A resource that does not exist is ' +
      'created; of others, what a document has becomes so, and what it leaves out stays as it is; tags become exactly those of ' +
      'the document. Users cannot be created: invite them. All documents are tried, what others name first; each failure is ' +
      'reported. Applying the same files again changes nothing. With --prune, what has the tag and is not in the files is ' +
      'deleted, unless something failed; users and what is built in never are.',
    examples: [
      ['All files of a folder', 'svc apply -f access/'],
      ['What would change', 'svc apply -f access/ --dry-run'],
      ['And delete what the files no longer have', 'svc apply -f access/ --prune team=core'],
    ],
  });

  files = Option.Array('-f,--file', {
    description: 'file or folder, in JSON or YAML; - for standard input; may be given several times',
    required: true,
  });
  dryRun = Option.Boolean('--dry-run', false, { description: 'only show what would change' });
  prune = Option.String('--prune', { description: 'delete what has this tag KEY=VALUE and is not in the files' });
  protected override readonly unavailable = onlyIn(['text', 'names'], 'an apply');
  readonly #counts = new Map<Outcome, number>();

  protected async run(): Promise<number> {
    const [tag] = this.prune === undefined ? [] : Object.entries(prunedTag(this.prune));
    const org = await this.requireOrg();
    const client = await this.authorized();
    const calls = (kind: Kind) => resourceCalls(client, org, kind.name);
    const declared = await readDeclared(this.terminal, this.files);
    const inOrder = declared.toSorted((one, other) => rankOf(one.kind) - rankOf(other.kind));
    const names = inOrder.map(({ kind, ref }) => `${kind.name}/${ref}`);
    const byName = new Map(inOrder.map((one, at) => [names[at], one]));
    let code = await this.#tryEach(names, (name) => planned(calls, byName.get(name) as Declared));
    if (tag && code !== EXIT.ok) this.terminal.warn('nothing was pruned, because not all was applied');
    else if (tag) code = await this.#prune(org, tag, new Set(names), calls);
    this.#summarize();
    return code;
  }

  async #tryEach(names: readonly string[], plan: (name: string) => Promise<Step>): Promise<number> {
    return this.tryAll(names, async (name) => {
      try {
        const outcome = await this.#done(name, plan);
        this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + 1);
      } catch (error) {
        this.#counts.set('failed', (this.#counts.get('failed') ?? 0) + 1);
        throw error;
      }
    });
  }

  async #done(name: string, plan: (name: string) => Promise<Step>): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      const step = await plan(name);
      try {
        if (!this.dryRun) await step.run();
      } catch (error) {
        // Somebody else changed it since it was read.
        const isStale = error instanceof ApiError && error.body.status === 412;
        if (isStale && tries < MOST_TRIES) continue;
        throw error;
      }
      await this.#show(name, step);
      return step.outcome;
    }
  }

  async #show(name: string, { outcome, before, after }: Step): Promise<void> {
    if (this.format === 'names') return printLines(this.terminal, outcome === 'unchanged' ? [] : [name]);
    const isChange = outcome !== 'unchanged';
    await printLines(this.terminal, [`${name} ${this.dryRun && isChange ? `would be ${outcome}` : outcome}`]);
    if (!this.dryRun || !isChange) return;
    const data = objectText([
      { name: 'before', raw: jsonOf(before) },
      { name: 'after', raw: jsonOf(after) },
    ]);
    const { changes } = differenceOf(`{"action":{"data":${data}}}`);
    await this.terminal.out(
      changes
        .flatMap(diffLines(this.terminal))
        .join('\n')
        .concat(changes.length > 0 ? '\n' : ''),
    );
  }

  /** What files can create, they can prune; in the order in which nothing names what is deleted. */
  async #prune(
    org: string,
    [key, value]: readonly [string, string],
    kept: ReadonlySet<string>,
    calls: (kind: Kind) => ResourceCalls,
  ): Promise<number> {
    const query = JSON.stringify({ spec: { match: 'all', terms: [{ op: '=', tag: key, value }] } });
    const found = new Map<string, { kind: Kind; resource: string; ref: string }>();
    const kinds = DECLARABLE.filter(({ operations }) => operations.includes('create'));
    for (const kind of kinds.toSorted((one, other) => rankOf(other) - rankOf(one))) {
      for (const resource of await this.#matching(org, kind, query)) {
        const ref = nameOf(kind, JSON.parse(resource) as Shown);
        const isBuiltin = member(resource, 'origin') === '"builtin"';
        if (!isBuiltin && !kept.has(`${kind.name}/${ref}`)) found.set(`${kind.name}/${ref}`, { kind, resource, ref });
      }
    }
    const names = [...found.keys()];
    if (names.length > 0 && !this.dryRun) await this.confirm(`delete ${names.join(', ')} of ${org}?`);
    return this.#tryEach(names, async (name) => {
      const { kind, resource, ref } = found.get(name) as { kind: Kind; resource: string; ref: string };
      const before = parseValue(objectText(wanted(kind, resource)));
      return { outcome: 'deleted', before, after: new Map(), run: () => calls(kind).delete(ref) };
    });
  }

  async #matching(org: string, kind: Kind, query: string): Promise<string[]> {
    const client = await this.authorized();
    const body = objectText([
      { name: 'kind', raw: JSON.stringify(kind.name) },
      { name: 'fetch', raw: '"items"' },
      ...members(query),
    ]);
    const found: string[] = [];
    for (
      let at: string | undefined = `${path`/org/${org}/${kind.name}`}/-query?limit=${PAGE_SIZE}`;
      at !== undefined;
    ) {
      const page: Awaited<ReturnType<typeof readPage>> = await readPage(client, at, { on: 'api', query: body });
      found.push(...page.items);
      at = nextOf(page, at);
    }
    return found;
  }

  #summarize(): void {
    const outcomes: readonly Outcome[] = [
      'created',
      'updated',
      'unchanged',
      ...(this.prune === undefined ? [] : (['deleted'] as const)),
      'failed',
    ];
    const counts = outcomes.map((outcome) => `${this.#counts.get(outcome) ?? 0} ${outcome}`).join(', ');
    this.terminal.note(this.dryRun ? `nothing was changed; it would be: ${counts}` : counts);
  }
}

function prunedTag(text: string): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) throw new UsageError(`--prune is a tag KEY=VALUE, not \`${text}\``);
  return parseTags([text]);
}

/** What makes the resource as it is declared. Reads it first. */
async function planned(
  calls: (kind: Kind) => ResourceCalls,
  { where, kind, ref, members: desired }: Declared,
): Promise<Step> {
  const { get, create, patch } = calls(kind);
  const stored = await get(ref).catch(absent);
  if (stored === undefined) {
    if (!kind.operations.includes('create')) {
      throw new CliError(`${where}: there is no such ${kind.noun}`, EXIT.failure, [
        'users are invited: `svc user invite`',
      ]);
    }
    const body = objectText(desired.filter(({ raw }: Member) => raw !== 'null'));
    return { outcome: 'created', before: new Map(), after: parseValue(body), run: () => create(body) };
  }
  const before = parseValue(objectText(wanted(kind, stored)));
  const change = changeTo(
    before,
    desired.filter(({ name }) => name !== kind.ref),
  );
  if (change === undefined) return { outcome: 'unchanged', before, after: before, run: async () => undefined };
  const version = Number(member(stored, 'version'));
  return { outcome: 'updated', before, after: patched(before, change), run: () => patch(ref, jsonOf(change), version) };
}

function absent(error: unknown): undefined {
  if (error instanceof ApiError && error.body.status === 404) return undefined;
  throw error;
}

export const COMMANDS = [Apply];
