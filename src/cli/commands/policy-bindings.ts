import { type CommandClass, Option } from 'clipanion';
import { ApiError } from '../../client/errors.js';
import { type Binding, isGranted, parseBinding, withBinding, withoutBinding } from '../args/bindings.js';
import { POLICY } from '../args/kinds.js';
import { ApiCommand, type SvcContext } from '../command.js';
import { CliError, EXIT } from '../output/failures.js';
import { shortName } from '../output/short-name.js';
import { ResourceCommand } from './resource/command.js';

/** How often a change is tried anew on what somebody else made of the policy meanwhile. */
const ATTEMPTS = 5;

interface Policy {
  version: number;
  bindings: readonly Binding[];
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

  protected async run(): Promise<number> {
    const [{ principalLink }, org] = await Promise.all([import('../args/links.js'), this.requireOrg()]);
    const given = this.texts.map((text) => parseBinding(text, (written) => principalLink(org, '--binding', written)));
    const calls = await this.calls();
    for (let attempt = 1; ; attempt++) {
      const { version, bindings } = JSON.parse(await calls.get(this.ref)) as Policy;
      const body = { bindings: given.reduce<readonly Binding[]>((list, one) => this.changed(list, one), bindings) };
      try {
        await this.show(await calls.patch(this.ref, JSON.stringify(body), version));
        return EXIT.ok;
      } catch (error) {
        const isLate = error instanceof ApiError && error.body.status === 412;
        if (!isLate || attempt === ATTEMPTS) throw error;
      }
    }
  }
}

/** `svc policy add-binding <ref>`. */
export function addBindingCommand(): CommandClass<SvcContext> {
  return class extends BindingCommand {
    static override paths = [['policy', 'add-binding']];
    static override usage = ApiCommand.Usage({
      description: 'grant more by a policy',
      examples: [['A group may also delete', 'svc policy add-binding leads --binding delete=group/devs']],
    });

    protected override changed(bindings: readonly Binding[], given: Binding): readonly Binding[] {
      return withBinding(bindings, given);
    }
  };
}

/** `svc policy remove-binding <ref>`. */
export function removeBindingCommand(): CommandClass<SvcContext> {
  return class extends BindingCommand {
    static override paths = [['policy', 'remove-binding']];
    static override usage = ApiCommand.Usage({
      description: 'grant less by a policy',
      details: 'What the policy does not grant cannot be removed from it: it may come from another one.',
      examples: [['A user may edit no longer', 'svc policy remove-binding leads --binding edit=ann@example.com']],
    });

    protected override changed(bindings: readonly Binding[], given: Binding): readonly Binding[] {
      if (isGranted(bindings, given)) return withoutBinding(bindings, given);
      const { permissions, principalLinks } = given;
      throw new CliError(
        `${this.ref} does not grant ${permissions.join(',')} to ${principalLinks.map(shortName).join(',')}`,
      );
    }
  };
}
