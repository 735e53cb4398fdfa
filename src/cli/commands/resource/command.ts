import type { ResourceCalls } from '../../../client/resources.js';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand } from '../../command.js';
import type { ListSink } from '../../output/document.js';

/** How many results of several references are shown at once: columns are aligned among them. */
const SHOWN_AT_ONCE = 50;

/** A command on the resources of one kind. */
export abstract class ResourceCommand extends ApiCommand {
  protected abstract readonly kind: Kind;

  protected async calls(): Promise<ResourceCalls> {
    const org = await this.requireOrg();
    await this.requireToken();
    const [client, { resourceCalls }] = await Promise.all([this.client(), import('../../../client/resources.js')]);
    return resourceCalls(client, org, this.kind.segment);
  }

  /** Shows one resource. */
  protected async show(resource: string): Promise<void> {
    const { showResourceAs } = await import('../../output/resources.js');
    await showResourceAs(this.terminal, this.format, { kind: this.kind, style: this.timeStyle }, resource);
  }

  /** Where a list of resources goes. */
  protected async openList(): Promise<ListSink> {
    const { openResources } = await import('../../output/resources.js');
    return openResources(this.terminal, this.format, { kind: this.kind, style: this.timeStyle });
  }

  /** Shows the resources that the query matches, or without one all, up to `--max`. */
  protected async showList(query?: object): Promise<void> {
    const org = await this.requireOrg();
    await this.requireToken();
    const [client, { path }, { PAGE_SIZE }, { showPages }] = await Promise.all([
      this.client(),
      import('../../../client/api-client.js'),
      import('../../../client/pages.js'),
      import('../pages.js'),
    ]);
    const all = path`/org/${org}/${this.kind.segment}`;
    await showPages({
      client,
      start: `${all}${query === undefined ? '' : '/-query'}?limit=${Math.min(this.limit, PAGE_SIZE)}`,
      on: 'api',
      query: query && JSON.stringify(query),
      sink: await this.openList(),
      limit: this.limit,
      stopped: () => this.terminal.outputClosed,
    });
  }

  /**
   * Does the work for each of the references, and shows the resources that come of it: of one reference the resource, of
   * several a list. The result is the exit code.
   */
  protected async showEach(refs: readonly string[], work: (ref: string) => Promise<string>): Promise<number> {
    const { tryAll } = await import('../each.js');
    const list = refs.length > 1 ? await this.openList() : undefined;
    await list?.begin([
      { name: 'kind', raw: '"list"' },
      { name: 'itemKind', raw: JSON.stringify(this.kind.name) },
    ]);
    const pending: string[] = [];
    const code = await tryAll(this.terminal, refs, async (ref) => {
      pending.push(await work(ref));
      if (pending.length === SHOWN_AT_ONCE) await list?.items(pending.splice(0));
    });
    if (!list) for (const resource of pending) await this.show(resource);
    await list?.items(pending);
    await list?.end([{ name: 'links', raw: '[]' }]);
    return code;
  }
}
