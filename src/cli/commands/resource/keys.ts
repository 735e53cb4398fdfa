import { type CommandClass, Option } from 'clipanion';
import type { Kind } from '../../args/kinds.js';
import { ApiCommand, type SvcContext } from '../../command.js';
import { EXIT } from '../../output/failures.js';
import type { Column } from '../../output/table.js';
import { ResourceCommand } from './command.js';

interface ShownKey {
  id?: unknown;
  description?: unknown;
  created?: unknown;
  expires?: unknown;
  lastUsed?: unknown;
  key?: unknown;
}

abstract class KeyCommand extends ResourceCommand {
  protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'keys' };

  protected async columns(): Promise<Column<ShownKey>[]> {
    const { formatTime } = await import('../../output/time.js');
    const time = (value: unknown) => formatTime(String(value ?? ''), this.timeStyle, Date.now());
    return [
      { header: 'ID', value: ({ id }) => String(id) },
      { header: 'DESCRIPTION', value: ({ description }) => String(description ?? ''), shrinks: true },
      { header: 'CREATED', value: ({ created }) => time(created) },
      { header: 'EXPIRES', value: ({ expires }) => time(expires) },
    ];
  }
}

/** `svc <kind> add-key <ref>`. */
export function addKeyCommand(kind: Kind): CommandClass<SvcContext> {
  const { name, noun, example } = kind;
  return class extends KeyCommand {
    static override paths = [[name, 'add-key']];
    static override usage = ApiCommand.Usage({
      description: `issue a key of a ${noun}, shown this once`,
      details:
        'Without --expires the key lives as long as the service lets it. A key that you issue to yourself ends with the key that you use, at the latest.',
      examples: [
        ['A key for 90 days', `svc ${name} add-key ${example} --description "build server" --expires 90d`],
        [
          'Log in with a new key',
          `svc ${name} add-key ${example} --description laptop -o json | jq -r .key | svc login --profile laptop`,
        ],
      ],
    });

    ref = Option.String({ name: 'ref' });
    description = Option.String('--description', { description: 'what the key is for', required: true });
    expires = Option.String('--expires', {
      description: 'when it ends: an ISO 8601 instant, or a span from now such as 90d',
    });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const { ahead, instant } = await import('../../args/moments.js');
      const { description, expires } = this;
      const read = expires !== undefined && /^\d{4}-/.test(expires) ? instant : ahead;
      const body = { description, ...(expires !== undefined && { expires: read('--expires', expires) }) };
      const calls = await this.calls();
      await this.#show(await calls.act('-addKey', body, this.ref));
      this.terminal.note('the key is shown this once: store it now');
      return EXIT.ok;
    }

    async #show(answer: string): Promise<void> {
      const { format, terminal } = this;
      const { isDocument, showResource } = await import('../../output/document.js');
      if (isDocument(format)) return showResource(terminal, format, answer);
      const [{ TablePrinter }, { escapeLine }] = await Promise.all([
        import('../../output/table.js'),
        import('../../output/escape.js'),
      ]);
      const issued = JSON.parse(answer) as ShownKey;
      if (format === 'names') return terminal.out(`${escapeLine(String(issued.id))}\n`);
      await new TablePrinter<ShownKey>(terminal, await this.columns()).print([issued]);
      await terminal.out(`key: ${escapeLine(String(issued.key))}\n`);
    }
  };
}

/** `svc <kind> remove-key <ref> --id ID`. */
export function removeKeyCommand(kind: Kind): CommandClass<SvcContext> {
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
      const { tryAll } = await import('../each.js');
      return tryAll(this.terminal, this.ids, async (id) => {
        await calls.act('-removeKey', { id }, this.ref);
        this.terminal.note(`revoked ${id}`);
      });
    }
  };
}

/** `svc <kind> keys <ref>`. */
export function keysCommand(kind: Kind): CommandClass<SvcContext> {
  const { name, noun, example } = kind;
  return class extends KeyCommand {
    static override paths = [[name, 'keys']];
    static override usage = ApiCommand.Usage({
      description: `list the keys of a ${noun}, the oldest first, and when each was last used`,
      examples: [
        ['All keys', `svc ${name} keys ${example}`],
        ['Their identifiers only', `svc ${name} keys ${example} -o names`],
      ],
    });

    ref = Option.String({ name: 'ref' });
    protected override readonly kind = kind;

    protected async run(): Promise<number> {
      const { format, terminal } = this;
      const calls = await this.calls();
      const answer = await calls.list('-keys', this.ref);
      const { isDocument, showResource } = await import('../../output/document.js');
      if (isDocument(format)) {
        await showResource(terminal, format, answer);
        return EXIT.ok;
      }
      const [{ TablePrinter }, { escapeLine }] = await Promise.all([
        import('../../output/table.js'),
        import('../../output/escape.js'),
      ]);
      const { items = [] } = JSON.parse(answer) as { items?: readonly ShownKey[] };
      if (format === 'names') await terminal.out(items.map(({ id }) => `${escapeLine(String(id))}\n`).join(''));
      else {
        const lastUsed = { header: 'LAST USED', value: (key: ShownKey) => String(key.lastUsed ?? '') };
        await new TablePrinter<ShownKey>(terminal, [...(await this.columns()), lastUsed]).print(items);
      }
      return EXIT.ok;
    }
  };
}
