import type { CommandClass } from 'clipanion';
import { path } from '../../../client/api-client.js';
import { PAGE_SIZE } from '../../../client/pages.js';
import type { Kind } from '../../../contract/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import type { ListSink } from '../../output/document.js';
import { openResources, showResourceAs } from '../../output/resources.js';
import { showPages } from '../pages.js';
import { type ResourceCalls, resourceCalls } from './calls.js';

/** Makes the command of a kind. */
export type Verb = (kind: Kind) => CommandClass<SvcContext>;

/** What an example shows, and its command line. */
export type Example = [label: string, command: string];

/** How many results of several references are shown at once: columns are aligned among them. */
const SHOWN_AT_ONCE = 50;

/** A command on the resources of one kind. */
export abstract class ResourceCommand extends ApiCommand {
  protected abstract readonly kind: Kind;

  protected async calls(): Promise<ResourceCalls> {
    const org = await this.requireOrg();
    return resourceCalls(await this.authorized(), org, this.kind.name);
  }

  /** Shows one resource. */
  protected show(resource: string): Promise<void> {
    return showResourceAs(this.terminal, this.format, { kind: this.kind, style: this.timeStyle }, resource);
  }

  /** Where a list of resources goes. */
  #openList(): Promise<ListSink> {
    return openResources(this.terminal, this.format, { kind: this.kind, style: this.timeStyle });
  }

  /** Shows the resources that the query matches, or without one all, up to `--max`. */
  protected async showList(query?: object): Promise<void> {
    const org = await this.requireOrg();
    const client = await this.authorized();
    const all = path`/org/${org}/${this.kind.name}`;
    await showPages({
      client,
      start: `${all}${query === undefined ? '' : '/-query'}?limit=${Math.min(this.limit, PAGE_SIZE)}`,
      on: 'api',
      query: query && JSON.stringify(query),
      sink: await this.#openList(),
      limit: this.limit,
      terminal: this.terminal,
      nothing: `No ${this.kind.plural}${query === undefined ? '' : ' match'}`,
    });
  }

  /**
   * Does the work for each of the references and shows the resulting resources: for one reference the resource, for
   * several a list. The result is the exit code.
   */
  protected async showEach(refs: readonly string[], work: (ref: string) => Promise<string>): Promise<number> {
    const list = refs.length > 1 ? await this.#openList() : undefined;
    await list?.begin([
      { name: 'kind', raw: '"list"' },
      { name: 'itemKind', raw: JSON.stringify(this.kind.name) },
    ]);
    const pending: string[] = [];
    const code = await this.tryAll(refs, async (ref) => {
      pending.push(await work(ref));
      if (pending.length === SHOWN_AT_ONCE) await list?.items(pending.splice(0));
    });
    if (!list) for (const resource of pending) await this.show(resource);
    await list?.items(pending);
    await list?.end([{ name: 'links', raw: '[]' }]);
    return code;
  }
}
