import { randomUUID } from 'node:crypto';
import { Option } from 'clipanion';
import { path } from '../../client/api-client.js';
import { PAGE_SIZE, queryText } from '../../client/pages.js';
import { parseTags } from '../args/assignments.js';
import { ApiCommand, undeclared } from '../command.js';
import {
  isDocument,
  openList,
  printLines,
  showAnswer,
  showKeyOnce,
  showResource,
  textForms,
} from '../output/document.js';
import type { Column } from '../output/table.js';
import { type Shown, tagsText, textOf, timeText } from '../output/values.js';
import { showPages } from './pages.js';

const nameOf = ({ name }: Shown): string => textOf(name);

abstract class OrgCommand extends ApiCommand {
  protected override readonly unavailable = undeclared('organizations');

  protected async show(answer: string): Promise<void> {
    const { format, terminal, columns } = this;
    const org = JSON.parse(answer) as Shown;
    await showAnswer(terminal, format, answer, { items: [org], columns, name: nameOf });
    await showKeyOnce(terminal, format, org.key);
  }

  protected get columns(): Column<Shown>[] {
    return [
      { header: 'NAME', value: nameOf },
      { header: 'DESCRIPTION', value: ({ description }) => textOf(description), shrinks: true },
      { header: 'CREATED', value: ({ created }) => timeText(created, this.timeStyle) },
      { header: 'TAGS', value: ({ tags }) => tagsText(tags), shrinks: true },
    ];
  }

  /** Sends a POST that is done once, however often it is sent. */
  protected async post(at: string, body?: object): Promise<string> {
    const client = await this.authorized();
    return client.call({
      method: 'POST',
      path: at,
      on: 'api',
      ...(body && { body: JSON.stringify(body) }),
      idempotencyKey: randomUUID(),
      retry: 'safe',
    });
  }
}

class OrgCreate extends OrgCommand {
  static override paths = [['org', 'create']];
  static override usage = ApiCommand.Usage({
    description: 'create an organization; the token is the root key of the service',
    details: 'The answer holds the first key of the organization. It is shown only once: store it with `svc login`.',
    examples: [
      ['Create an organization', 'SVC_TOKEN="$CONTROL_ROOT_KEY" svc org create --name acme'],
      ['Create one and log in with its key', 'svc org create --name acme -o json | jq -r .key | svc login --org acme'],
    ],
  });

  name = Option.String('--name', { description: 'name of the organization', required: true });
  description = Option.String('--description,--desc', { description: 'description; default: the name' });
  tags = Option.Array('--tag', { description: 'a tag KEY=VALUE; may be given several times' });

  protected async run(): Promise<void> {
    const body = {
      name: this.name,
      ...(this.description !== undefined && { description: this.description }),
      ...(this.tags && { tags: parseTags(this.tags) }),
    };
    await this.show(await this.post('/org', body));
  }
}

class OrgList extends OrgCommand {
  static override paths = [['org', 'list']];
  static override usage = ApiCommand.Usage({
    description: 'list the organizations, by name; needs the root key',
    examples: [['One name a line', 'SVC_TOKEN="$CONTROL_ROOT_KEY" svc org list --max 0 -o names']],
  });

  protected async run(): Promise<void> {
    const { terminal, format, limit, columns } = this;
    await showPages({
      client: await this.authorized(),
      start: `/org${queryText({ limit: String(Math.min(limit, PAGE_SIZE)) })}`,
      on: 'api',
      sink: openList(terminal, format, textForms(terminal, columns, nameOf)),
      limit,
      terminal,
      nothing: 'No organizations',
    });
  }
}

class OrgGet extends OrgCommand {
  static override paths = [['org', 'get']];
  static override usage = ApiCommand.Usage({
    description: 'show an organization, by default the one in use; the root key shows any',
    examples: [
      ['The organization of the profile', 'svc org get'],
      ['Its name only', 'svc org get acme -o names'],
    ],
  });

  ref = Option.String({ name: 'ref', required: false });

  protected async run(): Promise<void> {
    const org = await this.requireOrg(this.ref);
    const client = await this.authorized();
    await this.show(await client.call({ method: 'GET', path: path`/org/${org}`, on: 'api', retry: 'safe' }));
  }
}

class OrgRecover extends OrgCommand {
  static override paths = [['org', 'recover']];
  static override usage = ApiCommand.Usage({
    description: 'issue a new key for an organization that lost its last; needs the root key',
    details: 'The key is one of the service account `admin`. It is shown only once: store it with `svc login`.',
    examples: [['A new key', 'SVC_TOKEN="$CONTROL_ROOT_KEY" svc org recover acme']],
  });

  ref = Option.String({ name: 'ref', required: false });

  protected async run(): Promise<void> {
    const { format, terminal } = this;
    const answer = await this.post(path`/org/${await this.requireOrg(this.ref)}/-recover`);
    if (isDocument(format)) await showResource(terminal, format, answer);
    else await printLines(terminal, [textOf((JSON.parse(answer) as Shown).key)]);
    await terminal.showOnce('', 'already');
  }
}

export const COMMANDS = [OrgCreate, OrgList, OrgGet, OrgRecover];
