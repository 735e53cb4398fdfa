import { type CommandClass, Option } from 'clipanion';
import { ApiCommand, type SvcContext } from '../command.js';
import { EXIT } from '../failures.js';
import { SERVICE_ACCOUNT } from '../kinds.js';
import { ResourceCommand } from '../resource-command.js';

interface IssuedKey {
  id?: unknown;
  description?: unknown;
  created?: unknown;
  expires?: unknown;
  key?: unknown;
}

/** `svc serviceaccount add-key <ref>`. */
export function addKeyCommand(): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [['serviceaccount', 'add-key']];
    static override usage = ApiCommand.Usage({
      description: 'issue a key of a service account, shown this once',
      examples: [
        ['A key for 90 days', 'svc serviceaccount add-key ci --description "build server" --expires 90d'],
        [
          'Log in with a new key',
          'svc serviceaccount add-key ci --description laptop -o json | jq -r .key | svc login --profile ci',
        ],
      ],
    });

    ref = Option.String({ name: 'ref' });
    description = Option.String('--description', { description: 'what the key is for', required: true });
    expires = Option.String('--expires', {
      description: 'when it ends: an ISO 8601 instant, or a span from now such as 90d; default: never',
    });
    protected override readonly kind = SERVICE_ACCOUNT;
    protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'keys' };

    protected async run(): Promise<number> {
      const { ahead, instant } = await import('../duration.js');
      const { description, expires } = this;
      const read = expires !== undefined && /^\d{4}-/.test(expires) ? instant : ahead;
      const body = { description, ...(expires !== undefined && { expires: read('--expires', expires) }) };
      const calls = await this.calls();
      await this.#show(await calls.act('-addKey', body, this.ref));
      this.terminal.note('the key is shown this once: store it now');
      return EXIT.ok;
    }

    async #show(answer: string): Promise<void> {
      const { format, terminal, timeStyle } = this;
      const { isDocument, showResource } = await import('../output/document.js');
      if (isDocument(format)) return showResource(terminal, format, answer);
      const [{ TablePrinter }, { formatTime }, { escapeLine }] = await Promise.all([
        import('../output/table.js'),
        import('../output/time.js'),
        import('../escape.js'),
      ]);
      const issued = JSON.parse(answer) as IssuedKey;
      if (format === 'names') return terminal.out(`${escapeLine(String(issued.id))}\n`);
      const time = (value: unknown) => formatTime(String(value ?? ''), timeStyle, Date.now());
      const table = new TablePrinter<IssuedKey>(terminal, [
        { header: 'ID', value: ({ id }) => String(id) },
        { header: 'DESCRIPTION', value: (key) => String(key.description ?? ''), shrinks: true },
        { header: 'CREATED', value: ({ created }) => time(created) },
        { header: 'EXPIRES', value: (key) => time(key.expires) },
      ]);
      await table.print([issued]);
      await terminal.out(`key: ${escapeLine(String(issued.key))}\n`);
    }
  };
}

/** `svc serviceaccount remove-key <ref> --id ID`. */
export function removeKeyCommand(): CommandClass<SvcContext> {
  return class extends ResourceCommand {
    static override paths = [['serviceaccount', 'remove-key']];
    static override usage = ApiCommand.Usage({
      description: 'revoke keys of a service account',
      details: 'All identifiers are tried; each failure is reported.',
      examples: [
        ['See which keys there are', 'svc serviceaccount get ci -o yaml'],
        ['Revoke one', 'svc serviceaccount remove-key ci --id 01890a5d-ac96-774b-bcce-b302099a8057'],
      ],
    });

    ref = Option.String({ name: 'ref' });
    ids = Option.Array('--id', { description: 'identifier of a key; may be given several times', required: true });
    protected override readonly kind = SERVICE_ACCOUNT;

    protected async run(): Promise<number> {
      const calls = await this.calls();
      const { tryAll } = await import('../several.js');
      return tryAll(this.terminal, this.ids, async (id) => {
        await calls.act('-removeKey', { id }, this.ref);
        this.terminal.note(`revoked ${id}`);
      });
    }
  };
}
