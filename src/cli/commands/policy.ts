import { Option } from 'clipanion';
import { ApiError } from '../../client/errors.js';
import { KINDS, type Kind, kindOf } from '../../contract/kinds.js';
import { choice } from '../args/choice.js';
import { linkOf, principalLink } from '../args/links.js';
import { ApiCommand } from '../command.js';
import { CliError, UsageError } from '../output/failures.js';
import { shortName } from '../output/values.js';
import { ResourceCommand } from './resource/command.js';
import { CreateCommand, FROM_FILE } from './resource/create.js';

const POLICY = kindOf('policy');

/** How often a change is tried on the newest version of a policy that others change, too. */
const ATTEMPTS = 5;

/** These principals have these permissions. */
interface Binding {
  permissions: readonly string[];
  principalLinks: readonly string[];
}

/** `PERMISSION,...=PRINCIPAL,...`. Throws `UsageError` for any other text. */
function parseBinding(org: string, text: string): Binding {
  const equals = text.indexOf('=');
  const permissions = text.slice(0, Math.max(0, equals)).split(',').filter(Boolean);
  const principals = text
    .slice(equals + 1)
    .split(',')
    .filter(Boolean);
  if (equals < 1 || permissions.length === 0 || principals.length === 0) {
    throw new UsageError(`--binding is PERMISSION=PRINCIPAL such as view,edit=group/devs, not \`${text}\``);
  }
  return { permissions, principalLinks: principals.map((written) => principalLink(org, '--binding', written)) };
}

export class PolicyCreate extends CreateCommand {
  static override paths = [['policy', 'create']];
  static override usage = ApiCommand.Usage({
    description: 'create a policy: who may do what to which resources',
    details:
      'A binding is PERMISSION=PRINCIPAL, each side one or several separated by commas; a principal is an e-mail ' +
      `address, user/REF, serviceaccount/NAME, group/NAME or a link. \`svc <kind> permissions\` lists what can be granted. ${FROM_FILE}`,
    examples: [
      [
        'A group may edit all domains',
        'svc policy create --name domain-editors --target-kind domain --target all --binding edit=group/devs',
      ],
      [
        'Two principals may do two things to one group',
        'svc policy create --name leads --target-kind group --target-link devs --binding edit,delete=ann@example.com,serviceaccount/ci',
      ],
      ['As a copy', 'svc policy get leads -o yaml-slim | svc policy create -f - --name leads2'],
    ],
  });

  targetKind = choice(
    '--target-kind',
    KINDS.filter(({ permissions }: Kind) => permissions.length > 0).map(({ name }) => name),
    { what: 'kind of the resources', without: 'required unless the file has one' },
  );
  target = Option.String('--target', { description: 'all: every resource of the kind' });
  targetLinks = Option.Array('--target-link', [], {
    description: 'a resource of the kind, by its name (e-mail address) or link; may be given several times',
  });
  bindings = Option.Array('--binding', [], { description: 'PERMISSION=PRINCIPAL; may be given several times' });
  protected override readonly kind = POLICY;

  protected override options(org: string): Readonly<Record<string, unknown>> {
    const { targetKind, target, targetLinks } = this;
    if (target !== undefined && targetLinks.length > 0) {
      throw new UsageError('--target and --target-link exclude each other');
    }
    const targetLink = (written: string): string => {
      if (written.startsWith('/')) return written;
      if (targetKind === undefined) throw new UsageError('--target-link by name needs --target-kind');
      return linkOf(org, targetKind, written);
    };
    const bindings = this.bindings.map((text) => parseBinding(org, text));
    return {
      ...(targetKind !== undefined && { targetKind }),
      ...(target !== undefined && { target }),
      ...(targetLinks.length > 0 && { targetLinks: targetLinks.map(targetLink) }),
      ...(bindings.length > 0 && { bindings }),
    };
  }
}

/** Changes the bindings of one policy. */
abstract class BindingCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref' });
  texts = Option.Array('--binding', {
    description: 'PERMISSION=PRINCIPAL, each one or several separated by commas; may be given several times',
    required: true,
  });
  protected override readonly kind = POLICY;

  protected abstract changed(bindings: readonly Binding[], given: Binding): readonly Binding[];

  protected async run(): Promise<void> {
    const org = await this.requireOrg();
    const given = this.texts.map((text) => parseBinding(org, text));
    const calls = await this.calls();
    for (let attempt = 1; ; attempt++) {
      const policy = JSON.parse(await calls.get(this.ref)) as { version: number; bindings: readonly Binding[] };
      const bindings = given.reduce((list, one) => this.changed(list, one), policy.bindings);
      try {
        return await this.show(await calls.patch(this.ref, JSON.stringify({ bindings }), policy.version));
      } catch (error) {
        const isStale = error instanceof ApiError && error.body.status === 412;
        if (!isStale || attempt === ATTEMPTS) throw error;
      }
    }
  }
}

export class AddBinding extends BindingCommand {
  static override paths = [['policy', 'add-binding']];
  static override usage = ApiCommand.Usage({
    description: 'grant more by a policy',
    examples: [['A group may also delete', 'svc policy add-binding leads --binding delete=group/devs']],
  });

  /** Principals of the same permissions share a binding. */
  protected override changed(bindings: readonly Binding[], more: Binding): readonly Binding[] {
    const at = bindings.findIndex(({ permissions }) => sameTexts(permissions, more.permissions));
    const found = bindings[at];
    if (!found) return [...bindings, more];
    const principalLinks = [...new Set([...found.principalLinks, ...more.principalLinks])];
    return bindings.with(at, { ...found, principalLinks });
  }
}

export class RemoveBinding extends BindingCommand {
  static override paths = [['policy', 'remove-binding']];
  static override usage = ApiCommand.Usage({
    description: 'grant less by a policy',
    details: 'What the policy does not grant cannot be removed from it: it may come from another one.',
    examples: [['A user may no longer edit', 'svc policy remove-binding leads --binding edit=ann@example.com']],
  });

  /** The principals no longer have the permissions; all else stays granted. */
  protected override changed(bindings: readonly Binding[], less: Binding): readonly Binding[] {
    if (!isGranted(bindings, less)) {
      const { permissions, principalLinks } = less;
      const who = principalLinks.map(shortName).join(',');
      throw new CliError(`${this.ref} does not grant ${permissions.join(',')} to ${who}`);
    }
    const isMeant = (link: string) => less.principalLinks.includes(link);
    return bindings
      .flatMap(({ permissions, principalLinks }): Binding[] => {
        const left = permissions.filter((name) => !less.permissions.includes(name));
        if (left.length === permissions.length || !principalLinks.some(isMeant))
          return [{ permissions, principalLinks }];
        return [
          { permissions, principalLinks: principalLinks.filter((link) => !isMeant(link)) },
          { permissions: left, principalLinks: principalLinks.filter(isMeant) },
        ];
      })
      .filter(({ permissions, principalLinks }) => permissions.length > 0 && principalLinks.length > 0);
  }
}

/** Whether the bindings give each of these principals each of these permissions. */
const isGranted = (bindings: readonly Binding[], { permissions, principalLinks }: Binding): boolean =>
  permissions.every((name) =>
    principalLinks.every((link) =>
      bindings.some((one) => one.permissions.includes(name) && one.principalLinks.includes(link)),
    ),
  );

const sameTexts = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text) => other.includes(text));
