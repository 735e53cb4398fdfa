import { ApiCommand } from '../command.js';
import { EXIT } from '../output/failures.js';

type Held = 'all' | { readonly total?: unknown };

interface WhoAmIAnswer {
  readonly principal?: { readonly kind?: unknown; readonly name?: unknown; readonly email?: unknown };
  readonly org?: unknown;
  readonly key?: { readonly [member: string]: unknown };
  readonly permissions?: Readonly<Record<string, Readonly<Record<string, Held>>>>;
}

class WhoAmI extends ApiCommand {
  static override paths = [['whoami']];
  static override usage = ApiCommand.Usage({
    description: 'show whom the key speaks for, until when, and what it may do',
    examples: [
      ['Of the profile in use', 'svc whoami'],
      ['Of another profile, with the targets of each permission', 'svc whoami --profile ops -o yaml'],
    ],
  });

  protected override readonly unavailable = { formats: ['tf', 'crd'] as const, subject: 'who you are' };

  protected async run(): Promise<number> {
    await this.requireToken();
    const client = await this.client();
    const answer = await client.call({ method: 'GET', path: '/whoami', on: 'api', retry: 'safe' });
    const { format, terminal } = this;
    const { isDocument, showResource } = await import('../output/document.js');
    if (isDocument(format)) {
      await showResource(terminal, format, answer);
      return EXIT.ok;
    }
    const { escapeLine } = await import('../output/escape.js');
    const shown = JSON.parse(answer) as WhoAmIAnswer;
    const name = nameOf(shown);
    const lines = format === 'names' ? [name] : await this.#lines(name, shown);
    await terminal.out(lines.map((line) => `${escapeLine(line)}\n`).join(''));
    return EXIT.ok;
  }

  async #lines(name: string, { principal, org, key, permissions = {} }: WhoAmIAnswer): Promise<string[]> {
    const { formatTime } = await import('../output/time.js');
    const time = (value: unknown) => formatTime(String(value ?? ''), this.timeStyle, Date.now());
    const facts: [string, string][] = [[`${text(principal?.kind)}:`, name]];
    if (principal?.email !== undefined) facts.push(['name:', text(principal.name)]);
    if (org !== undefined) facts.push(['organization:', text(org)]);
    if (key) {
      facts.push(['key:', `${text(key.id)} ${text(key.description)}`], ['issued:', time(key.created)]);
      facts.push(['expires:', key.expires === undefined ? 'never' : time(key.expires)]);
      if (key.lastUsed !== undefined) facts.push(['last used:', text(key.lastUsed)]);
    }
    for (const [kind, held] of Object.entries(permissions)) {
      const each = Object.entries(held).map(([permission, where]) => `${permission} ${whereText(where)}`);
      facts.push([`${kind}:`, each.join(', ')]);
    }
    const width = Math.max(...facts.map(([label]) => label.length));
    return facts.map(([label, value]) => `${label.padEnd(width)}  ${value}`);
  }
}

const text = (value: unknown): string => (value == null ? '' : String(value));

/** What commands call the principal. */
function nameOf({ principal }: WhoAmIAnswer): string {
  return text(principal?.email ?? principal?.name);
}

function whereText(where: Held): string {
  return where === 'all' ? '(all)' : `(${text(where.total)})`;
}

export const COMMANDS = [WhoAmI];
