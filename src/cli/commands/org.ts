import { Option } from 'clipanion';
import { parseTags } from '../args/tags.js';
import { ApiCommand } from '../command.js';
import { EXIT } from '../output/failures.js';

interface ShownOrg {
  name?: unknown;
  description?: unknown;
  created?: unknown;
  tags?: unknown;
  key?: unknown;
}

abstract class OrgCommand extends ApiCommand {
  protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'organizations' };

  protected async show(body: string): Promise<void> {
    const { format, terminal } = this;
    const { isDocument, showResource } = await import('../output/document.js');
    if (isDocument(format)) return showResource(terminal, format, body);
    const { escapeLine } = await import('../output/escape.js');
    const org = JSON.parse(body) as ShownOrg;
    if (format === 'names') return terminal.out(`${escapeLine(String(org.name))}\n`);
    const [{ TablePrinter }, { formatTime }, { tagsText }] = await Promise.all([
      import('../output/table.js'),
      import('../output/time.js'),
      import('../output/columns.js'),
    ]);
    const table = new TablePrinter<ShownOrg>(terminal, [
      { header: 'NAME', value: ({ name }) => String(name) },
      { header: 'DESCRIPTION', value: ({ description }) => String(description ?? ''), shrinks: true },
      { header: 'CREATED', value: ({ created }) => formatTime(String(created ?? ''), this.timeStyle, Date.now()) },
      { header: 'TAGS', value: ({ tags }) => tagsText(tags), shrinks: true },
    ]);
    await table.print([org]);
    if (org.key !== undefined) await terminal.out(`key: ${escapeLine(String(org.key))}\n`);
  }
}

class OrgCreate extends OrgCommand {
  static override paths = [['org', 'create']];
  static override usage = ApiCommand.Usage({
    description: 'create an organization; the token is the root key of the service',
    details: 'The answer holds the first key of the organization. It is shown this once: store it with `svc login`.',
    examples: [
      ['Create an organization', 'svc org create --name acme --token "$CONTROL_ROOT_KEY"'],
      ['Create one and log in with its key', 'svc org create --name acme -o json | jq -r .key | svc login --org acme'],
    ],
  });

  name = Option.String('--name', { description: 'name of the organization', required: true });
  description = Option.String('--description,--desc', { description: 'description; default: the name' });
  tags = Option.Array('--tag', { description: 'a tag KEY=VALUE; may be given several times' });

  protected async run(): Promise<number> {
    const body = {
      name: this.name,
      ...(this.description !== undefined && { description: this.description }),
      ...(this.tags && { tags: parseTags(this.tags) }),
    };
    await this.requireToken();
    const [client, { randomUUID }] = await Promise.all([this.client(), import('node:crypto')]);
    const answer = await client.call({
      method: 'POST',
      path: '/org',
      on: 'api',
      body: JSON.stringify(body),
      idempotencyKey: randomUUID(),
      retry: 'safe',
    });
    await this.show(answer);
    this.terminal.note('the key is shown this once: store it now, for example with `svc login`');
    return EXIT.ok;
  }
}

class OrgGet extends OrgCommand {
  static override paths = [['org', 'get']];
  static override usage = ApiCommand.Usage({
    description: 'show an organization, by default the one in use',
    examples: [
      ['The organization of the profile', 'svc org get'],
      ['Its name only', 'svc org get acme -o names'],
    ],
  });

  ref = Option.String({ name: 'ref', required: false });

  protected async run(): Promise<number> {
    const org = await this.requireOrg(this.ref);
    await this.requireToken();
    const [client, { path }] = await Promise.all([this.client(), import('../../client/api-client.js')]);
    await this.show(await client.call({ method: 'GET', path: path`/org/${org}`, on: 'api', retry: 'safe' }));
    return EXIT.ok;
  }
}

class OrgRecover extends OrgCommand {
  static override paths = [['org', 'recover']];
  static override usage = ApiCommand.Usage({
    description: 'give an organization that has lost its last key a new one; the token is the root key of the service',
    details: 'The key is one of the service account `admin`. It is shown this once: store it with `svc login`.',
    examples: [['A new key', 'svc org recover acme --token "$CONTROL_ROOT_KEY"']],
  });

  ref = Option.String({ name: 'ref', required: false });

  protected async run(): Promise<number> {
    const org = await this.requireOrg(this.ref);
    await this.requireToken();
    const [client, { path }, { randomUUID }, { isDocument, showResource }, { escapeLine }] = await Promise.all([
      this.client(),
      import('../../client/api-client.js'),
      import('node:crypto'),
      import('../output/document.js'),
      import('../output/escape.js'),
    ]);
    const answer = await client.call({
      method: 'POST',
      path: path`/org/${org}/-recover`,
      on: 'api',
      idempotencyKey: randomUUID(),
      retry: 'safe',
    });
    const { format, terminal } = this;
    if (isDocument(format)) await showResource(terminal, format, answer);
    else await terminal.out(`${escapeLine(String((JSON.parse(answer) as ShownOrg).key))}\n`);
    terminal.note('the key is shown this once: store it now, for example with `svc login`');
    return EXIT.ok;
  }
}

export const COMMANDS = [OrgCreate, OrgGet, OrgRecover];
