import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { type Answer, Api, type Org, type Refusal } from './api.js';

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  /** Header lines, unfolded. */
  readonly headers: readonly string[];
  readonly text: string;
  /** As it came over the wire. */
  readonly raw: string;
}

/** A mail server on the loopback, and what it took. */
export interface Mailbox {
  /** For `CONTROL_SMTP_URL` and `CONTROL_SMTP_FROM`. */
  readonly env: Record<string, string>;
  readonly mails: Mail[];
  /** The code in the last mail to the address. */
  code(email: string): string;
  close(): Promise<void>;
}

export async function openMailbox(
  options: SMTPServerOptions = {},
  { userinfo = '', host = '127.0.0.1' }: { readonly userinfo?: string; readonly host?: string } = {},
): Promise<Mailbox> {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom ? mailFrom.address : '';
        mails.push(
          parsed(
            Buffer.concat(chunks).toString(),
            from,
            rcptTo.map(({ address }) => address),
          ),
        );
        done();
      });
    },
    ...options,
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    env: { CONTROL_SMTP_URL: `smtp://${userinfo}${host}:${port}`, CONTROL_SMTP_FROM: 'Acme <no-reply@acme.example>' },
    mails,
    code: (email) => codeIn(mails.findLast(({ to }) => to.includes(email))?.text),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function parsed(raw: string, from: string, to: readonly string[]): Mail {
  const end = raw.indexOf('\r\n\r\n');
  const headers = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  return { from, to, headers, text: unquoted(raw.slice(end + 4)), raw };
}

/** Quoted-printable (RFC 2045 section 6.7), of ASCII. */
function unquoted(text: string): string {
  return text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function codeIn(text = ''): string {
  const [, code] = /--code (\S+)/.exec(text) ?? [];
  if (code === undefined) throw new Error(`no code in: ${text}`);
  return code;
}

export interface UserBody {
  readonly kind: string;
  readonly id: string;
  readonly name: string;
  readonly email: string;
  readonly idp: string;
  readonly description: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly version: number;
  readonly created: string;
  readonly lastModified: string;
  readonly links: readonly { readonly rel: string; readonly href: string }[];
}

export interface Invited {
  readonly invitations: Readonly<Record<string, string>>;
  readonly errors: Readonly<Record<string, Refusal & { readonly details: { readonly invitation?: string } }>>;
}

/** Invites the address; answers the link of the invitation. */
export async function invite(org: Org, email: string, group?: string): Promise<string> {
  const body = { emails: [email], ...(group !== undefined && { group }) };
  const { status, text, body: answer } = await org.api.post<Invited>(`/org/${org.name}/user/-invite`, body);
  const link = answer?.invitations?.[email.toLowerCase()];
  if (status !== 200 || link === undefined) throw new Error(`the invitation answered ${status}: ${text}`);
  return link;
}

/** A user of the organization, and what the acceptance answered. */
export async function newUser(
  org: Org,
  mailbox: Mailbox,
  email: string,
  options: { readonly name?: string; readonly group?: string } = {},
): Promise<Answer<UserBody & { readonly key: string }>> {
  const link = await invite(org, email, options.group);
  const body = { code: mailbox.code(email.toLowerCase()), name: options.name ?? 'Some One' };
  const answer = await new Api(org.api.url).post<UserBody & { key: string }>(`${link}/-accept`, body);
  if (answer.status !== 201) throw new Error(`the acceptance answered ${answer.status}: ${answer.text}`);
  return answer;
}
