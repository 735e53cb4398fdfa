import { ApiCommand, undeclared } from '../command.js';
import { isDocument, printLines, showResource } from '../output/document.js';
import { textOf, timeText } from '../output/values.js';

type Held = 'all' | { readonly total?: unknown };

export interface WhoAmIAnswer {
  readonly principal?: { readonly kind?: unknown; readonly name?: unknown; readonly email?: unknown };
  readonly org?: unknown;
  readonly key?: { readonly [member: string]: unknown };
  readonly permissions?: Readonly<Record<string, Readonly<Record<string, Held>>>>;
}

class WhoAmI extends ApiCommand {
  static override paths = [['whoami']];
  static override usage = ApiCommand.Usage({
    description: 'show whom the key belongs to, when it expires, and what it may do',
    examples: [
      ['Of the profile in use', 'svc whoami'],
      ['Of another profile, with the targets of each permission', 'svc whoami --profile ops -o yaml'],
    ],
  });

  protected override readonly unavailable = undeclared('who you are');

  protected async run(): Promise<void> {
    const client = await this.authorized();
    const answer = await client.call({ method: 'GET', path: '/whoami', on: 'api', retry: 'safe' });
    const { format, terminal } = this;
    if (isDocument(format)) return showResource(terminal, format, answer);
    const shown = JSON.parse(answer) as WhoAmIAnswer;
    const name = textOf(shown.principal?.email ?? shown.principal?.name);
    await printLines(terminal, format === 'names' ? [name] : this.#lines(name, shown));
  }

  #lines(name: string, { principal, org, key, permissions = {} }: WhoAmIAnswer): string[] {
    const time = (value: unknown) => timeText(value, this.timeStyle);
    const facts: [string, string][] = [[`${textOf(principal?.kind)}:`, name]];
    if (principal?.email !== undefined) facts.push(['name:', textOf(principal.name)]);
    if (org !== undefined) facts.push(['organization:', textOf(org)]);
    if (key) {
      facts.push(['key:', `${textOf(key.id)} ${textOf(key.description)}`], ['issued:', time(key.created)]);
      facts.push(['expires:', key.expires === undefined ? 'never' : time(key.expires)]);
      if (key.lastUsed !== undefined) facts.push(['last used:', textOf(key.lastUsed)]);
    }
    for (const [kind, held] of Object.entries(permissions)) {
      const each = Object.entries(held).map(
        ([permission, where]) => `${permission} (${where === 'all' ? 'all' : textOf(where.total)})`,
      );
      facts.push([`${kind}:`, each.join(', ')]);
    }
    const width = Math.max(...facts.map(([label]) => label.length));
    return facts.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
  }
}

export const COMMANDS = [WhoAmI];
