import { ControlError } from '../contract/errors.js';
import { BackgroundConnect } from '../platform/background-connect.js';
import type { ReadModel } from './read-model.js';

/**
 * A read model that may not be reachable yet. Until it is, every call is refused, and `missing` is the reason. If it can be
 * reached but not used, `opened` rejects.
 */
export class ConnectingReadModel implements ReadModel {
  private readonly opening: BackgroundConnect<ReadModel>;

  constructor(
    name: string,
    readonly refreshMs: ReadModel['refreshMs'],
    open: () => Promise<ReadModel>,
  ) {
    this.opening = new BackgroundConnect(name, open);
  }

  get opened(): Promise<ReadModel> {
    return this.opening.opened;
  }

  /** Why the read model cannot be used at the moment; undefined when it can. */
  get missing(): string | undefined {
    return this.opening.missing;
  }

  get: ReadModel['get'] = (...args) => this.use((model) => model.get(...args));
  search: ReadModel['search'] = (...args) => this.use((model) => model.search(...args));
  last: ReadModel['last'] = (...args) => this.use((model) => model.last(...args));
  count: ReadModel['count'] = (...args) => this.use((model) => model.count(...args));
  stats: ReadModel['stats'] = (...args) => this.use((model) => model.stats(...args));
  apply: ReadModel['apply'] = (...args) => this.use((model) => model.apply(...args));
  progress: ReadModel['progress'] = (...args) => this.use((model) => model.progress(...args));
  refresh: ReadModel['refresh'] = () => this.use((model) => model.refresh());
  sweep: ReadModel['sweep'] = (...args) => this.use((model) => model.sweep(...args));
  scan: ReadModel['scan'] = (...args) => this.use((model) => model.scan(...args));
  strays: ReadModel['strays'] = (...args) => this.use((model) => model.strays(...args));
  overwrite: ReadModel['overwrite'] = (...args) => this.use((model) => model.overwrite(...args));
  remove: ReadModel['remove'] = (...args) => this.use((model) => model.remove(...args));
  begin: ReadModel['begin'] = () => this.use((model) => model.begin());

  close(): Promise<void> {
    return this.opening.close();
  }

  private async use<Result>(work: (model: ReadModel) => Promise<Result>): Promise<Result> {
    if (this.opening.store) return work(this.opening.store);
    throw new ControlError('read_model_unavailable', this.missing ?? 'the read model is closed');
  }
}
