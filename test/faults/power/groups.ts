import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.js';
import { type Answer, bodyOf, type Client } from '../client.js';
import type { World } from '../world.js';

const GROUPS = 12;

/** A description, or undefined if there is no such group. */
type Value = string | undefined;

/** Changes of control: groups that are made, edited and deleted, each by one client at a time. */
export class Groups {
  /** What the last acknowledged change made of each, and what those since may have made of it. */
  private readonly values = new Map<string, { known: Value; possible: Value[] }>();
  private ended = false;
  private count = 0;
  acknowledged = 0;

  constructor(
    private readonly world: World,
    private readonly org: string,
  ) {}

  async change(client: Client, random: Random): Promise<void> {
    this.ended = false;
    const mine = (half: number) => Array.from({ length: GROUPS / 2 }, (_, index) => `group-${half}-${index}`);
    await Promise.all(
      [1, 2].map(async (half) => {
        while (!this.ended) {
          await this.changeOne(client, random.pick(mine(half)), random);
          await delay(random.whole(0, 30));
        }
      }),
    );
  }

  end(): void {
    this.ended = true;
  }

  private async changeOne(client: Client, name: string, random: Random): Promise<void> {
    const group = this.values.get(name) ?? { known: undefined, possible: [] };
    this.values.set(name, group);
    // It may be there or not: only the check after the start tells.
    if (group.possible.length > 0) return;
    this.count += 1;
    const description = `change ${this.count}`;
    const path = `/org/${this.org}/group`;
    const deletes = group.known !== undefined && random.chance(0.2);
    const value = deletes ? undefined : description;
    group.possible.push(value);
    const answer = await (group.known === undefined
      ? client.post(path, { name, description })
      : deletes
        ? client.send('DELETE', `${path}/${name}`)
        : client.send('PATCH', `${path}/${name}`, { description })
    ).catch(() => undefined);
    if (!answer || answer.status === 503) return;
    if (answer.status >= 300) this.world.faults.push(`${name}: a change was answered ${answer.status} ${answer.text}`);
    this.acknowledged += 1;
    group.known = value;
    group.possible = [];
  }

  acknowledge(name: string, description: string): void {
    this.values.set(name, { known: description, possible: [] });
    this.acknowledged += 1;
  }

  /** After a loss of power: each group is as the last acknowledged change left it, or as one without an answer did. */
  async check(client: Client): Promise<void> {
    await Promise.all(
      [...this.values].map(async ([name, group]) => {
        const answer = await client.get(`/org/${this.org}/group/${name}`);
        const value = descriptionIn(answer);
        if (value !== null && [group.known, ...group.possible].includes(value)) {
          group.known = value;
          group.possible = [];
        } else this.world.faults.push(`${name} was acknowledged as ${group.known}, and is now ${answer.text}`);
      }),
    );
  }
}

function descriptionIn(answer: Answer): Value | null {
  if (answer.status === 404) return undefined;
  return answer.status === 200 ? bodyOf<{ description: string }>(answer).description : null;
}
