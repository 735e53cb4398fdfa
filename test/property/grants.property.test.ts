import { emptyFold, foldRecord, readFold, trackedRead } from '../../src/control/fold.js';
import type { ControlEvent } from '../../src/model/control-events.js';
import { ControlRefusal } from '../../src/model/refusal.js';
import { recordOf } from '../spec/decider.js';
import { type Decision, ORG, occasion } from '../spec/past.js';
import fc from '../support/fast-check.js';
import { seeded } from './arbitraries.js';
import { beyond, Oracle, type Reach, together, within } from './grants.oracle.js';
import { BEGINNING, decisionOf, type Step, step, TAGS } from './grants.walk.js';

const ADMIN = `/org/${ORG}/serviceaccount/admin`;

/** What was tried by how many, over all walks. */
const seen = new Map<string, { accepted: number; forbidden: number; other: number }>();

/** An organization that changes step by step, and what the oracle says of every step. */
class World {
  private readonly fold = emptyFold();
  private made = 0;
  /** By invitation: who sent it, as the test itself remembers, and the id that it had. */
  private readonly inviters = new Map<string, { readonly link: string; readonly id: string | undefined }>();

  constructor() {
    for (const decide of BEGINNING) this.apply(decide);
  }

  get oracle(): Oracle {
    return new Oracle(readFold(this.fold), ORG);
  }

  private apply(decide: Decision): readonly ControlEvent[] {
    const { read, expected } = trackedRead(this.fold);
    const events = decide(read);
    this.made += 1;
    const folded = foldRecord(this.fold, recordOf(`step ${this.made}`, events, expected(events)), {
      offset: this.made,
      time: 0,
    });
    expect(folded).toBe('applied');
    return events;
  }

  /** Whoever speaks through the step, and what it changed; undefined where it was refused or there was nothing to do. */
  take(step: Step, callers: readonly string[]): Taken | undefined {
    const read = readFold(this.fold);
    const caller = callers[step.by % callers.length] ?? ADMIN;
    const principals = this.oracle.principals();
    const decide = decisionOf(step, occasion(`step ${this.made}`, undefined, caller), read, principals);
    const count = seen.get(step.what) ?? { accepted: 0, forbidden: 0, other: 0 };
    seen.set(step.what, count);
    if (!decide) return undefined;
    const before = new Map(principals.map((one) => [one, this.oracle.reach(one)]));
    try {
      const events = this.apply(decide);
      count.accepted += events.length > 0 ? 1 : 0;
      return { step, before, events, caller: this.giverOf(events, caller) };
    } catch (error) {
      if (!(error instanceof ControlRefusal)) throw error;
      count[error.code === 'forbidden' ? 'forbidden' : 'other'] += 1;
      if (error.code === 'forbidden' && step.what !== 'accept') expect(holdsAll(before.get(caller))).toBe(false);
      return undefined;
    }
  }

  /** Who gives what the events give: of an acceptance, who had sent the invitation. */
  private giverOf(events: readonly ControlEvent[], caller: string): string {
    for (const event of events) {
      if (event.type === 'invitation-created') {
        this.inviters.set(event.data.id, { link: caller, id: this.idOf(caller) });
      }
      if (event.type === 'invitation-deleted' && event.action === 'accept') return this.senderOf(event.data.id);
    }
    return caller;
  }

  /** Nobody, if the name of the sender is another's by now. */
  private senderOf(invitation: string): string {
    const sent = this.inviters.get(invitation);
    if (!sent) return ADMIN;
    return this.idOf(sent.link) === sent.id ? sent.link : 'nobody';
  }

  private idOf(link: string): string | undefined {
    const read = readFold(this.fold);
    const user = read.all('user', ORG).find(({ email }) => link === `/org/${ORG}/user/${email}`);
    const account = read.all('serviceaccount', ORG).find(({ name }) => link === `/org/${ORG}/serviceaccount/${name}`);
    return (user ?? account)?.id;
  }

  /** Throws where a step gave anybody what its giver did not have. */
  judge({ step, before, events, caller }: Taken): void {
    const given = before.get(caller) ?? new Set();
    const after = this.oracle;
    for (const principal of after.principals()) {
      const allowed = together(before.get(principal) ?? new Set(), given);
      const gained = beyond(after.reach(principal), allowed);
      if (gained.length > 0) throw new Error(`${step.what} by ${caller} gave ${principal} ${gained.join(', ')}`);
    }
    this.judgeTags(before, events);
    const isAcceptance = events.some(({ type }) => type === 'user-created');
    for (const event of events) {
      if (event.type === 'key-issued' && !isAcceptance) {
        expect(beyond(before.get(event.data.principal) ?? new Set(), given)).toEqual([]);
      }
      if (event.type === 'user-created') this.judgeAcceptance(event.data, events, given);
    }
  }

  /** Throws where a user who may edit itself gained by its tags from a step that was not about a user. */
  private judgeTags(before: Taken['before'], events: readonly ControlEvent[]): void {
    if (events.some(({ type }) => type === 'user-created' || type === 'user-edited')) return;
    const after = this.oracle;
    for (const { email } of readFold(this.fold).all('user', ORG)) {
      const link = `/org/${ORG}/user/${email}`;
      const had = before.get(link) ?? new Set();
      const gained = new Set(beyond(after.reach(link), had));
      if (gained.size === 0 || !within(new Set([`user edit ${link}`]), had)) continue;
      for (const tags of TAGS) {
        const otherwise = new Oracle(readFold(this.fold), ORG, { [email]: { tags } }).reach(link);
        expect([link, tags, beyond(gained, together(otherwise, had))]).toEqual([link, tags, []]);
      }
    }
  }

  private judgeAcceptance(user: { readonly email: string }, events: readonly ControlEvent[], given: Reach): void {
    const link = `/org/${ORG}/user/${user.email}`;
    const renamed = new Oracle(readFold(this.fold), ORG, { [user.email]: { name: 'Somebody else' } });
    expect(renamed.reach(link)).toEqual(this.oracle.reach(link));
    expect([...given]).toContain('user invite all');
    for (const event of events) {
      if (event.type !== 'group-edited') continue;
      expect(within(new Set([`group edit /org/${ORG}/group/${event.data.name}`]), given)).toBe(true);
    }
  }
}

interface Taken {
  readonly step: Step;
  /** Who gives what the step gives. */
  readonly caller: string;
  /** By principal: what it could do before. */
  readonly before: ReadonlyMap<string, Reach>;
  readonly events: readonly ControlEvent[];
}

function holdsAll(reach: Reach = new Set()): boolean {
  return ['user', 'group', 'serviceaccount', 'policy', 'domain', 'auditctx'].every((kind) =>
    reach.has(`${kind} manage all`),
  );
}

/** Everybody but superusers works together; keys that they issue and users whom they invited are theirs. */
class Coalition {
  readonly members: Set<string>;
  private readonly bound: Reach;

  constructor(private readonly world: World) {
    const { oracle } = world;
    this.members = new Set(oracle.principals().filter((one) => !holdsAll(oracle.reach(one))));
    this.bound = this.reach();
  }

  private reach(): Reach {
    const { oracle } = this.world;
    return together(...[...this.members].map((one) => oracle.reach(one)));
  }

  judge({ caller, events }: Taken): void {
    for (const event of events) {
      if (event.type === 'key-issued' && this.members.has(caller)) this.members.add(event.data.principal);
      if (event.type === 'user-created' && this.members.has(caller)) {
        this.members.add(`/org/${ORG}/user/${event.data.email}`);
      }
    }
    expect(beyond(this.reach(), this.bound)).toEqual([]);
  }
}

const walk = (length: number) => fc.array(step, { minLength: length, maxLength: length });

test('nobody gets more than the one who gives has, and no coalition more than it had, in 300 walks of 80 steps', () => {
  fc.assert(
    fc.property(walk(50), walk(30), (building, attack) => {
      const world = new World();
      for (const step of building) {
        // The only superuser at the beginning makes half of the steps: else nobody would have anything to give.
        const principals = world.oracle.principals();
        const taken = world.take(
          step,
          principals.flatMap((one) => [one, ADMIN]),
        );
        if (taken) world.judge(taken);
      }
      const coalition = new Coalition(world);
      for (const step of attack) {
        const known = new Set(world.oracle.principals());
        const callers = [...coalition.members].filter((one) => known.has(one));
        const taken = callers.length > 0 ? world.take(step, callers) : undefined;
        if (!taken) continue;
        world.judge(taken);
        coalition.judge(taken);
      }
    }),
    seeded(300),
  );
  const counts = [...seen].map(
    ([what, { accepted, forbidden, other }]) => `${what}: ${accepted} + ${forbidden} + ${other}`,
  );
  process.stderr.write(`accepted, forbidden and otherwise refused:\n${counts.join('\n')}\n`);
  const total = (of: 'accepted' | 'forbidden') => [...seen.values()].reduce((sum, one) => sum + one[of], 0);
  expect(total('accepted')).toBeGreaterThan(4_000);
  expect(total('forbidden')).toBeGreaterThan(2_000);
});
