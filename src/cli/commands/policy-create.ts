import { type CommandClass, Option } from 'clipanion';
import { parseBinding } from '../args/bindings.js';
import { choice } from '../args/choice.js';
import { POLICY } from '../args/kinds.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { UsageError } from '../output/failures.js';
import { CreateCommand, FROM_FILE } from './resource/create.js';

const TARGET_KINDS = ['user', 'group', 'serviceaccount', 'policy', 'domain', 'auditctx'] as const;

/** `svc policy create`. */
export function createPolicyCommand(): CommandClass<SvcContext> {
  return class extends CreateCommand {
    static override paths = [['policy', 'create']];
    static override usage = ApiCommand.Usage({
      description: 'create a policy: who may do what to which resources',
      details:
        'A binding is PERMISSION=PRINCIPAL, each side one or several separated by commas; a principal is an e-mail ' +
        `address, user/REF, serviceaccount/NAME, group/NAME or a link. \`permissions\` of a kind shows what there is to grant. ${FROM_FILE}`,
      examples: [
        [
          'A group may edit all domains',
          'svc policy create --name domain-editors --target-kind domain --target all --binding edit=group/devs',
        ],
        [
          'Two principals may do two things to one group',
          'svc policy create --name leads --target-kind group --target-link devs --binding edit,delete=ann@example.com,serviceaccount/ci',
        ],
        ['As another one is', 'svc policy get leads -o yaml-slim | svc policy create -f - --name leads2'],
      ],
    });

    targetKind = choice('--target-kind', TARGET_KINDS, {
      what: 'kind of the resources',
      without: 'required unless the file has one',
    });
    target = Option.String('--target', { description: 'all: every resource of the kind' });
    targetLinks = Option.Array('--target-link', [], {
      description: 'a resource of the kind, by its name (e-mail address) or link; may be given several times',
    });
    bindings = Option.Array('--binding', [], { description: 'PERMISSION=PRINCIPAL; may be given several times' });
    protected override readonly kind = POLICY;

    protected override async options(org: string): Promise<Readonly<Record<string, unknown>>> {
      const { targetKind, target, targetLinks } = this;
      const { linkTo, principalLink } = await import('../args/links.js');
      if (target !== undefined && targetLinks.length > 0) {
        throw new UsageError('--target and --target-link exclude each other');
      }
      const linkOf = (written: string): string => {
        if (written.startsWith('/')) return written;
        if (targetKind === undefined) throw new UsageError('--target-link by name needs --target-kind');
        return linkTo(org, targetKind, written);
      };
      const bindings = this.bindings.map((text) =>
        parseBinding(text, (written) => principalLink(org, '--binding', written)),
      );
      return {
        ...(targetKind !== undefined && { targetKind }),
        ...(target !== undefined && { target }),
        ...(targetLinks.length > 0 && { targetLinks: targetLinks.map(linkOf) }),
        ...(bindings.length > 0 && { bindings }),
      };
    }
  };
}
