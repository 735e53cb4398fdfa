import { Option } from 'clipanion';
import { ahead, instant } from '../../args/moments.js';
import { ApiCommand, undeclared } from '../../command.js';
import { showAnswer, showKeyOnce } from '../../output/document.js';
import { textOf, timeText } from '../../output/values.js';
import { ResourceCommand, type Verb } from './command.js';

interface ShownKey {
  id?: unknown;
  description?: unknown;
  created?: unknown;
  expires?: unknown;
  lastUsed?: unknown;
  key?: unknown;
}

abstract class KeyCommand extends ResourceCommand {
  ref = Option.String({ name: 'ref' });
  protected override readonly unavailable = undeclared('keys');

  protected showKeys(answer: string, items: readonly ShownKey[], { lastUsed }: { lastUsed: boolean }): Promise<void> {
    const time = (value: unknown) => timeText(value, this.timeStyle);
    const columns = [
      { header: 'ID', value: ({ id }: ShownKey) => textOf(id) },
      { header: 'DESCRIPTION', value: ({ description }: ShownKey) => textOf(description), shrinks: true },
      { header: 'CREATED', value: ({ created }: ShownKey) => time(created) },
      { header: 'EXPIRES', value: ({ expires }: ShownKey) => time(expires) },
      ...(lastUsed ? [{ header: 'LAST USED', value: (key: ShownKey) => textOf(key.lastUsed) }] : []),
    ];
    return showAnswer(this.terminal, this.format, answer, { items, columns, name: ({ id }) => textOf(id) });
  }
}

/** `svc <kind> add-key <ref>`. */
export const addKey: Verb = (kind) => {
  const { name, noun, example } = kind;
  return class extends KeyCommand {
    static override paths = [[name, 'add-key']];
    static override usage = ApiCommand.Usage({
      description: `issue a key of a ${noun}, shown only once`,
      details:
        'Without --expires the key lives as long as the service lets it. A key that you issue to yourself expires with the key that you use, at the latest.',
      examples: [
        ['A key for 90 days', `svc ${name} add-key ${example} --description "build server" --expires 90d`],
        [
          'Log in with a new key',
          `svc ${name} add-key ${example} --description laptop -o json | jq -r .key | svc login --profile laptop`,
        ],
      ],
    });

    description = Option.String('--description', { description: 'what the key is for', required: true });
    expires = Option.String('--expires', {
      description: 'when it expires: ISO 8601, or a span from now such as 90d',
    });
    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const { description, expires, terminal } = this;
      const read = expires !== undefined && /^\d{4}-/.test(expires) ? instant : ahead;
      const body = { description, ...(expires !== undefined && { expires: read('--expires', expires) }) };
      const calls = await this.calls();
      const answer = await calls.act('-addKey', body, this.ref);
      const issued = JSON.parse(answer) as ShownKey;
      await this.showKeys(answer, [issued], { lastUsed: false });
      await showKeyOnce(terminal, this.format, issued.key);
    }
  };
};

/** `svc <kind> remove-key <ref> --id ID`. */
export const removeKey: Verb = (kind) => {
  const { name, noun, example } = kind;
  return class extends ResourceCommand {
    static override paths = [[name, 'remove-key']];
    static override usage = ApiCommand.Usage({
      description: `revoke keys of a ${noun}`,
      details: 'All identifiers are tried; each failure is reported.',
      examples: [
        ['See which keys there are', `svc ${name} keys ${example}`],
        ['Revoke one', `svc ${name} remove-key ${example} --id 01890a5d-ac96-774b-bcce-b302099a8057`],
      ],
    });

    ref = Option.String({ name: 'ref' });
    ids = Option.Array('--id', { description: 'identifier of a key; may be given several times', required: true });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const calls = await this.calls();
      await this.confirm(`revoke ${this.ids.length === 1 ? 'key' : 'keys'} ${this.ids.join(', ')} of ${this.ref}?`);
      return this.tryAll(this.ids, async (id) => {
        await calls.act('-removeKey', { id }, this.ref);
        this.terminal.note(`revoked ${id}`);
      });
    }
  };
};

/** `svc <kind> keys <ref>`. */
export const keys: Verb = (kind) => {
  const { name, noun, example } = kind;
  return class extends KeyCommand {
    static override paths = [[name, 'keys']];
    static override usage = ApiCommand.Usage({
      description: `list the keys of a ${noun}, oldest first, and when each was last used`,
      examples: [
        ['All keys', `svc ${name} keys ${example}`],
        ['Their identifiers only', `svc ${name} keys ${example} -o names`],
      ],
    });

    protected override readonly kind = kind;

    protected async run(): Promise<void> {
      const calls = await this.calls();
      const answer = await calls.list('-keys', this.ref);
      const { items = [] } = JSON.parse(answer) as { items?: readonly ShownKey[] };
      await this.showKeys(answer, items, { lastUsed: true });
    }
  };
};
