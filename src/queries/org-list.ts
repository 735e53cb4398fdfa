import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { ControlState } from '../control/state.js';
import { viewOf } from '../model/views.js';
import { Cursors } from './cursor.js';
import { BY_NAME, type ResourcePage } from './resource-list.js';

/** All organizations, by name, each as the log has it when the request comes in. */
export class ListOrgs extends Query<ResourcePage> {
  constructor(
    readonly limit: number,
    readonly cursor: string | undefined,
  ) {
    super();
  }
}

/** From the state of the fold, which has every organization: documents of the read model are found within one only. */
@QueryHandler(ListOrgs)
export class ListOrgsHandler implements IQueryHandler<ListOrgs> {
  constructor(
    private readonly state: ControlState,
    private readonly cursors: Cursors,
  ) {}

  async execute({ limit, cursor }: ListOrgs): Promise<ResourcePage> {
    const scope = { org: '', filters: [], order: BY_NAME, of: { kind: 'org' } };
    const start = cursor === undefined ? undefined : this.cursors.decode(scope, cursor);
    await this.state.confirm();
    const { read } = this.state;
    const after = start && 'after' in start ? start.after[1] : '';
    const rest = read.all('org', '').filter(({ name }) => name > after);
    const page = rest.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, limit);
    const items = page.map((org) => JSON.stringify(viewOf('org', org, read)));
    const last = page.at(-1);
    if (!last || rest.length <= limit) return { items };
    return { items, next: this.cursors.encode(scope, { after: [last.name, last.name] }) };
  }
}
