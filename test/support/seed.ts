import { hash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { formerEventId } from '../../src/commands/event-keys.js';
import { keyHash } from '../../src/commands/key-secrets.js';
import { linkTo, parseLink } from '../../src/contract/links.js';
import { type ControlRecord, emptyFold, foldRecord, readFold, trackedRead } from '../../src/control/fold.js';
import { controlEntry } from '../../src/control/record.js';
import { auditEntry } from '../../src/event-log/audit-record.js';
import { EmbeddedEventLog } from '../../src/event-log/embedded/event-log.js';
import type { EventLog, LogEntry } from '../../src/event-log/event-log.js';
import type { SentAuditEvent } from '../../src/model/audit-event.js';
import { authzChanged } from '../../src/model/authz.js';
import type { ControlEvent, GroupDocument, PolicyDocument, Read } from '../../src/model/control-events.js';
import type { DomainSpec } from '../../src/model/domain-spec.js';
import { groupLink } from '../../src/model/group.js';
import { canonicalJson } from '../../src/model/json.js';
import { keyIssued, keysRevoked } from '../../src/model/key.js';
import { decideCreateOrg } from '../../src/model/org.js';
import { auditIds, begun, type Occasion } from '../../src/model/resource.js';
import { orgStream, userStream } from '../../src/model/streams.js';
import { userLink } from '../../src/model/user.js';
import { systemIds } from '../../src/platform/ids.js';
import { decideCreateDomain, decideCreateGroup, decideCreatePolicy, decideCreateServiceAccount } from './decisions.js';

const BY = { name: 'seed', requestId: 'seed', remoteIp: '192.0.2.1' };

/** So that a millisecond less than the later time is not before the earlier. */
const APART_MS = 5;

type Grants = Pick<PolicyDocument, 'targetKind'> & Partial<PolicyDocument>;

/**
 * A history that the log has before the service starts on it: principals with exactly these permissions, whatever routes
 * there are to make them. Answers links and keys.
 */
export class Seed {
  private readonly ids = systemIds({ now: () => this.now });
  private readonly fold = emptyFold();
  private readonly entries: { readonly entry: LogEntry; readonly time: number }[] = [];
  private taken = 0;

  /** `now`: when the log takes what comes next. */
  constructor(public now = Date.now() - 60_000) {}

  get read(): Read {
    return readFold(this.fold);
  }

  org(name: string): string {
    const key = this.secret();
    this.record((read, occasion) =>
      decideCreateOrg(read, { ...occasion, name, description: name, tags: {}, keyHash: keyHash(key) }),
    );
    return key;
  }

  user(
    org: string,
    email: string,
    more: { readonly tags?: Record<string, string>; readonly name?: string } = {},
  ): string {
    this.record((_read, { at, id }) => {
      const common = { org, email, idp: 'invitation', name: email, description: email, tags: {} };
      const data = { ...begun(id(0), at), ...common, ...more };
      return [{ type: 'user-created', stream: userStream(org, email), auditId: id(1), data }, authzChanged(org)];
    });
    return userLink(org, email);
  }

  account(org: string, name: string): string {
    const document = { description: name, tags: {} };
    this.record((read, occasion) => decideCreateServiceAccount(read, { ...occasion, org, name, document }));
    return linkTo(org, 'serviceaccount', name);
  }

  /** A key that speaks for the principal. */
  key(principal: string, expires?: string): string {
    const key = this.secret();
    const { org = '' } = parseLink(principal) ?? {};
    this.record((_read, { at, id }) => {
      const data = {
        id: id(0),
        org,
        principal,
        description: '',
        issued: at,
        ...(expires !== undefined && { expires }),
      };
      return [keyIssued(keyHash(key), data, id(1))];
    });
    return key;
  }

  revokeKeys(principal: string): void {
    this.record((read, occasion) => keysRevoked(read, principal, auditIds(occasion)));
  }

  group(org: string, name: string, more: Partial<GroupDocument> = {}): string {
    const document = { description: name, tags: {}, memberLinks: [], ...more };
    this.record((read, occasion) => decideCreateGroup(read, { ...occasion, org, name, document }));
    return groupLink(org, name);
  }

  policy(org: string, name: string, grants: Grants): string {
    const document = { description: name, tags: {}, bindings: [], ...grants };
    this.record((read, occasion) => decideCreatePolicy(read, { ...occasion, org, name, document }));
    return linkTo(org, 'policy', name);
  }

  domain(org: string, name: string): string {
    const document = { description: name, tags: {}, spec: {} as DomainSpec };
    this.record((read, occasion) => decideCreateDomain(read, { ...occasion, org, name, document }));
    return linkTo(org, 'domain', name);
  }

  record(decide: (read: Read, occasion: Occasion) => readonly ControlEvent[]): void {
    const { read, expected } = trackedRead(this.fold);
    const made: string[] = [];
    const id = (n: number) => {
      while (made.length <= n) made.push(this.ids.next());
      return made[n] ?? '';
    };
    const at = new Date(this.now).toISOString();
    const events = decide(read, { at, id, granter: null });
    const record: ControlRecord = { commandId: this.ids.next(), at, by: BY, expected: expected(events), events };
    const place = { offset: this.taken + this.entries.length, time: this.now };
    if (foldRecord(this.fold, record, place) !== 'applied') throw new Error('a seed is void');
    this.entries.push({ entry: controlEntry(record), time: this.now });
  }

  /** An event from before events had publishers, with an Idempotency-Key of that time; answers its identifier. */
  formerEvent(org: string, contextName: string, sent: SentAuditEvent, key: string): string {
    const id = formerEventId({ org, contextName }, key);
    const at = new Date(this.now).toISOString();
    const context = { remoteIp: '192.0.2.1', ...sent.context, org, name: contextName };
    const event = { id, ...sent, eventTime: at, postedTime: at, requestId: 'seed', context, subject: { name: 'seed' } };
    this.entries.push({ entry: auditEntry(event, { hash: hash('sha256', canonicalJson(sent)) }), time: this.now });
    return id;
  }

  /** A record that came too late: another change of the organization came first. */
  void(org: string, decide: (read: Read) => readonly ControlEvent[]): void {
    const events = decide(this.read);
    const at = new Date(this.now).toISOString();
    const expected = { [orgStream(org)]: 999 };
    this.entries.push({
      entry: controlEntry({ commandId: this.ids.next(), at, by: BY, expected, events }),
      time: this.now,
    });
  }

  /** What came since it was taken or written last. */
  take(): LogEntry[] {
    const entries = this.entries.splice(0).map(({ entry }) => entry);
    this.taken += entries.length;
    return entries;
  }

  /** Appends what came since it was taken or written last. The log gives what has one time one time, and the next a later. */
  async appendTo(log: EventLog): Promise<void> {
    const times = [...new Set(this.entries.map(({ time }) => time))];
    for (const time of times) {
      await log.append(this.entries.filter((one) => one.time === time).map(({ entry }) => entry));
      await delay(APART_MS);
    }
    this.take();
  }

  /** A data folder with a log that has all of it. */
  async write(): Promise<string> {
    const dataDir = mkdtempSync(join(tmpdir(), 'control-service-'));
    let time = 0;
    const log = await EmbeddedEventLog.open({ file: join(dataDir, 'log.db'), clock: { now: () => time } });
    for (const one of this.entries) {
      time = one.time;
      await log.append([one.entry]);
    }
    this.take();
    await log.close();
    return dataDir;
  }

  private secret(): string {
    return `svc_${this.ids.secret()}`;
  }
}
