import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { ControlState } from '../control/state.js';
import { resourceKindOf } from '../kinds/kinds.js';
import type { Change, Precondition } from '../model/change.js';
import type { ControlEvent } from '../model/control-events.js';
import type { Json } from '../model/json.js';
import { decideCreate, decideDelete, decideEdit, existing } from '../model/resource-changes.js';
import type { ResourceKind, ResourceState } from '../model/resource-kind.js';
import { type Changed, type ChangeRequest, ControlChanges } from './control-changes.js';

/** Creates a resource of a kind. The body is sound. */
export class CreateResource extends Command<Changed<ResourceState>> {
  constructor(
    readonly kind: string,
    readonly request: ChangeRequest,
    readonly body: Json & { readonly name: string },
  ) {
    super();
  }
}

@CommandHandler(CreateResource)
export class CreateResourceHandler implements ICommandHandler<CreateResource> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ kind, request, body: { name, ...body } }: CreateResource): Promise<Changed<ResourceState>> {
    const of = resourceKindOf(kind);
    const { org } = request;
    const document = of.complete(body as never, name);
    const { events, searchable } = await this.changes.make(request, (read, occasion) =>
      decideCreate(of, read, { ...occasion, org, name, document }),
    );
    const created = changedIn(of, events);
    if (!created) throw new Error(`the command created no ${kind}`);
    return { state: created, searchable };
  }
}

/** Changes the resource of a kind that has the reference. */
export class EditResource extends Command<Changed<ResourceState>> {
  constructor(
    readonly kind: string,
    readonly request: ChangeRequest,
    readonly ref: string,
    readonly change: Change,
  ) {
    super();
  }
}

@CommandHandler(EditResource)
export class EditResourceHandler implements ICommandHandler<EditResource> {
  constructor(
    private readonly changes: ControlChanges,
    private readonly state: ControlState,
  ) {}

  async execute({ kind, request, ref, change }: EditResource): Promise<Changed<ResourceState>> {
    const of = resourceKindOf(kind);
    const { org } = request;
    const check = of.newCheck();
    const { events, searchable } = await this.changes.make(request, (read, occasion) =>
      decideEdit(of, read, { ...occasion, org, ref, change }, check),
    );
    return { state: changedIn(of, events) ?? existing(this.state.read, of.kind, org, ref), searchable };
  }
}

/** Deletes the resource of a kind that has the reference. */
export class DeleteResource extends Command<void> {
  constructor(
    readonly kind: string,
    readonly request: ChangeRequest,
    readonly ref: string,
    readonly expected?: Precondition,
  ) {
    super();
  }
}

@CommandHandler(DeleteResource)
export class DeleteResourceHandler implements ICommandHandler<DeleteResource> {
  constructor(private readonly changes: ControlChanges) {}

  async execute({ kind, request, ref, expected }: DeleteResource): Promise<void> {
    const { org } = request;
    await this.changes.make(request, (read, occasion) =>
      decideDelete(resourceKindOf(kind), read, { ...occasion, org, ref, ...(expected !== undefined && { expected }) }),
    );
  }
}

/** The resource after the change that the events record. */
function changedIn({ kind }: ResourceKind, events: readonly ControlEvent[]): ResourceState | undefined {
  const types: readonly string[] = [`${kind.name}-created`, `${kind.name}-edited`];
  const [changed] = events.flatMap((event) => (types.includes(event.type) && 'data' in event ? [event.data] : []));
  return changed as ResourceState | undefined;
}
