import type { Logger } from 'pino';
import type { Letter, Mailer } from '../commands/invitation.js';
import { ControlError } from '../contract/errors.js';
import { invitationLink } from '../model/invitation.js';
import type { SmtpConfig } from '../platform/config/config.js';

/** The time limit for the mail server, because a caller waits. */
const SEND_MS = 10_000;

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/** Sends letters by SMTP. Responses of the mail server are logged and not returned: they may contain internal names. */
export async function smtpMailer({ from, ...server }: SmtpConfig, logger: Logger): Promise<Mailer> {
  // Loaded only where mail is sent.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport({
    ...server,
    // Never send a password unencrypted, even if someone in between alters the server's response.
    requireTLS: server.auth !== undefined && !LOOPBACK.includes(server.host),
    connectionTimeout: SEND_MS,
    greetingTimeout: SEND_MS,
    socketTimeout: SEND_MS,
    dnsTimeout: SEND_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.address.slice(from.address.indexOf('@') + 1);
  return {
    async send(letter) {
      const { org, id, email } = letter;
      try {
        await transport.sendMail({
          from,
          to: { name: '', address: email },
          subject: `Invitation to ${org}`,
          text: bodyOf(letter),
          // Keeps lines unbroken, so that the command can be copied.
          textEncoding: 'quoted-printable',
          // The same for the same letter, so that a mail program shows a repeated one once.
          messageId: `<invitation.${id}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: AbortSignal.timeout(SEND_MS),
        });
      } catch (error) {
        // Not the error's message, which contains the server's response: that may repeat the letter.
        const { name, code, responseCode, command } = error as Readonly<Record<string, unknown>>;
        logger.warn({ name, code, responseCode, command, email, invitation: id }, 'an invitation could not be sent');
        throw notSent(letter, 'the mail server did not take the invitation; the log tells why');
      }
    },
  };
}

/** Logs the codes for the operator to pass on, if no mail server is configured. */
export function logMailer(logger: Logger): Mailer {
  return {
    async send(letter) {
      const { org, id, email, code } = letter;
      if (!logger.isLevelEnabled('info')) {
        throw notSent(letter, 'CONTROL_SMTP_URL is not set, and CONTROL_LOG_LEVEL keeps the code out of the log');
      }
      logger.info({ org, invitation: id, email, code }, 'invited; no mail server is configured, so pass the code on');
    },
  };
}

function notSent({ org, id }: Letter, reason: string): ControlError {
  return new ControlError('mail_failed', reason, { invitation: invitationLink(org, id) });
}

/** Plain text without any text of a caller: names are letters, digits and hyphens. */
function bodyOf({ org, id, group, expires, code }: Letter): string {
  const joining = group === undefined ? '' : `, and to its group ${group}`;
  return `You are invited to the organization ${org}${joining}.

Accept before ${expires} with the command-line client:

  svc invitation accept ${org}/${id} --code ${code} --name "Your Name"

or with the REST API:

  POST ${invitationLink(org, id)}/-accept
  Content-Type: application/json

  {"code": "${code}", "name": "Your Name"}

The answer holds your API key, which is shown this once. The code works once. If you did not expect this, ignore it.
`;
}
