import { join } from 'node:path';
import { newOrg, type Org } from '../../support/api.js';
import { type Mailbox, newUser, openMailbox } from '../../support/mail.js';
import { startService, type TestService } from '../../support/service.js';
import { type Result, type RunOptions, svc, temporaryFolder } from './svc.js';

/** The real service with a mail server, and organizations whose admin runs `svc`. */
export interface TestHouse {
  readonly service: TestService;
  readonly mailbox: Mailbox;
  close(): Promise<void>;
}

export async function openHouse(): Promise<TestHouse> {
  const mailbox = await openMailbox();
  const service = await startService({ env: mailbox.env });
  return {
    service,
    mailbox,
    close: async () => {
      await service.remove();
      await mailbox.close();
    },
  };
}

/** An organization of its own, and the client of its admin. */
export interface Client {
  readonly org: Org;
  readonly env: Readonly<Record<string, string>>;
  run(args: readonly string[], options?: RunOptions): Promise<Result>;
  /** What `-o json` says; fails where the command does. */
  json<Body = Record<string, unknown>>(...args: readonly string[]): Promise<Body>;
  /** The lines of `-o names`. */
  names(...args: readonly string[]): Promise<string[]>;
  user(email: string, name?: string): Promise<void>;
}

export async function newClient({ service, mailbox }: TestHouse): Promise<Client> {
  const org = await newOrg(service);
  const env = {
    SVC_ENDPOINT: service.url,
    SVC_ORG: org.name,
    SVC_TOKEN: org.key,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'svc'),
  };
  const run = (args: readonly string[], options: RunOptions = {}) =>
    svc(args, { ...options, env: { ...env, ...options.env } });
  const output = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await run(args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  };
  return {
    org,
    env,
    run,
    json: async (...args) => JSON.parse(await output([...args, '-o', 'json'])),
    names: async (...args) => (await output([...args, '-o', 'names'])).split('\n').filter(Boolean),
    user: async (email, name = 'Some One') => {
      await newUser(org, mailbox, email, { name });
    },
  };
}
