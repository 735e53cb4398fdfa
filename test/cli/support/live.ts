import { authzChanged } from '../../../src/model/authz.js';
import { begun } from '../../../src/model/resource.js';
import { groupStream } from '../../../src/model/streams.js';
import { Api, Org } from '../../support/api.js';
import { type Mailbox, newUser, openMailbox, type UserBody } from '../../support/mail.js';
import { type Resource, Resources } from '../../support/resources.js';
import { Seed } from '../../support/seed.js';
import { startService, type TestService } from '../../support/service.js';
import { type Result, type RunOptions, svc } from './svc.js';

interface MemberQuery {
  readonly kind: string;
  readonly fetch: string;
  readonly spec: { readonly match: string; readonly terms: readonly Readonly<Record<string, unknown>>[] };
}

export type Group = Resource & {
  readonly memberLinks: readonly string[];
  readonly memberQuery?: MemberQuery;
  readonly origin: string;
};

const ORG = 'acme';

/** Resources with a tag of the service's own, `svc/origin`: no client can give them one. */
export const BUILTIN = { user: 'builtin@example.com', group: 'builtin-tagged' } as const;

function seedBuiltinTags(seed: Seed): void {
  const tags = { 'svc/origin': 'seed' };
  seed.user(ORG, BUILTIN.user, { tags });
  seed.record((_read, { at, id }) => {
    const common = { org: ORG, name: BUILTIN.group, origin: 'default', description: '', memberLinks: [] } as const;
    const data = { ...begun(id(0), at), ...common, tags };
    return [
      { type: 'group-created', stream: groupStream(ORG, BUILTIN.group), auditId: id(1), data },
      authzChanged(ORG),
    ];
  });
}

/** A service that runs, an organization on it, and `svc` as somebody who may do everything there. */
export class Live {
  readonly users: Resources<UserBody & Resource>;
  readonly groups: Resources<Group>;
  private made = 0;

  private constructor(
    readonly service: TestService,
    readonly mailbox: Mailbox,
    readonly org: Org,
  ) {
    this.users = new Resources(org, 'user');
    this.groups = new Resources(org, 'group');
  }

  static async start(): Promise<Live> {
    const [mailbox, seed] = [await openMailbox(), new Seed()];
    const key = seed.org(ORG);
    seedBuiltinTags(seed);
    const service = await startService({ dataDir: await seed.write(), env: mailbox.env });
    return new Live(service, mailbox, new Org(service.url, ORG, key));
  }

  async remove(): Promise<void> {
    await this.service.remove();
    await this.mailbox.close();
  }

  get env(): Record<string, string> {
    return { SVC_ENDPOINT: this.service.url, SVC_ORG: this.org.name, SVC_TOKEN: this.org.key };
  }

  /** Runs `svc` to its end. */
  svc(args: readonly string[], options: RunOptions = {}): Promise<Result> {
    return svc(args, { ...options, env: { ...this.env, ...options.env } });
  }

  /** The standard output of a run that must succeed. */
  async out(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.svc(args, options);
    if (code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout;
  }

  /** The lines of `--output names`, sorted. */
  async names(args: readonly string[]): Promise<string[]> {
    return (await this.out([...args, '-o', 'names'])).split('\n').filter(Boolean).sort();
  }

  /** A name that nothing else has. */
  name(stem: string): string {
    this.made += 1;
    return `${stem}-${this.made}`;
  }

  /** A new user; the rest is set afterwards. */
  async user(more: { readonly name?: string; readonly tags?: object; readonly description?: string } = {}) {
    const email = `${this.name('user')}@example.com`;
    const { name, ...rest } = more;
    await newUser(this.org, this.mailbox, email, { ...(name !== undefined && { name }) });
    if (Object.keys(rest).length > 0) await this.users.patch(email, rest);
    return (await this.users.get(email)).body;
  }

  async group(more: object = {}): Promise<Group> {
    const { status, body, text } = await this.groups.create({ name: this.name('group'), ...more });
    if (status !== 201) throw new Error(`the group's creation answered ${status}: ${text}`);
    return body;
  }

  /** The link of a new service account. */
  async account(): Promise<string> {
    const { body } = await new Resources(this.org, 'serviceaccount').create({ name: this.name('account') });
    return `/org/${this.org.name}/serviceaccount/${body.name}`;
  }

  link({ kind, name, email }: { readonly kind: string; readonly name: string; readonly email?: string }): string {
    return `/org/${this.org.name}/${kind}/${email ?? name}`;
  }

  /** How many changes the organization has seen. */
  async changes(): Promise<number> {
    return (await this.org.walk(`${this.org.audit}?contextName=svc&pageSize=1000`)).length;
  }

  /** The API as nobody. */
  get anonymous(): Api {
    return new Api(this.service.url);
  }
}

/** Fails unless the command line is a usage error that names what is missing, and nothing was sent. */
export async function expectUsageError(live: Live, args: readonly string[], named: string): Promise<void> {
  const { code, stdout, stderr } = await live.svc([...args, '--debug']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(named);
  expect(stderr).not.toMatch(/^> /m);
}
