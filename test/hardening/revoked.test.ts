import { setTimeout as delay } from 'node:timers/promises';
import { halfSend } from '../support/half-sent.js';
import { randomFor } from '../support/random.js';
import { type RevocableRoute, type RevocableWorld, revocableWorld, type Trial } from '../support/revocable-routes.js';
import { WAYS, type Way } from '../support/revocation.js';
import { routesWithRequests } from '../support/route-requests.js';
import { scaled, Tally, tell } from './scale.js';

/** Of each route, at so many moments between the first byte of the headers and the answer. */
const MOMENTS = scaled(3, 20);

/** Routes at a time: each is an organization of its own. */
const AT_ONCE = 6;

/** So long the rest of a request and the revocation each wait, at most: about as long as a revocation takes. */
const SPREAD_MS = 25;

const random = randomFor('revoked');
let world: RevocableWorld;

beforeAll(async () => {
  world = await revocableWorld((route) =>
    Array.from({ length: MOMENTS }, (_, moment) => WAYS[(route + moment) % WAYS.length] as Way),
  );
});

afterAll(() => world?.service.remove());

interface Outcome {
  readonly trial: Trial;
  readonly status: number;
  /** When the client had the answer to the revocation, in ms. */
  readonly answered: number;
  /** Whether the last byte of the request went out after that. */
  readonly after: boolean;
  readonly refused: number;
}

/** In half of the trials the rest is sent when the revocation is answered; in the others, both happen when they happen. */
async function outcomeOf(method: string, trial: Trial): Promise<Outcome> {
  const { request, caller } = await trial.prepare();
  const sent = { method, ...request, key: caller.key, requestId: trial.name };
  const { finish, answer } = await halfSend(world.service.url, sent, random.chance(0.3) ? 'first byte' : random());
  const waits = random.chance(0.5);
  const answered = delay(random() * SPREAD_MS)
    .then(() => caller.revoke())
    .then(() => Date.now());
  await (waits ? answered : delay(random() * SPREAD_MS));
  finish();
  return {
    trial,
    status: (await answer)?.status ?? 0,
    answered: await answered,
    after: waits,
    refused: caller.status,
  };
}

async function faultsOf(route: RevocableRoute, tally: Tally): Promise<string[]> {
  const outcomes: Outcome[] = [];
  for (const trial of route.trials) outcomes.push(await outcomeOf(route.method, trial));
  const effects = route.changes ? await route.effects() : new Map<string, number>();
  return outcomes.flatMap((outcome) => {
    const { trial, status, answered, after, refused } = outcome;
    const faults: string[] = [];
    const done = effects.get(trial.name);
    tally.add(after ? 'finished after' : status < 300 ? 'in time' : 'too late');
    tally.add(trial.way);
    if (done !== undefined) tally.add('effects before');
    if (after && status !== refused) faults.push(`answered ${status}, not ${refused}`);
    if (after && done !== undefined) faults.push('was done, although it came after the revocation');
    // A key that expires is judged by the clock, in the moment before the log takes what it asked for.
    if (!after && done !== undefined && done > answered && trial.way !== 'key expired') {
      faults.push(`was done ${done - answered} ms after the revocation was answered`);
    }
    if (route.changes && status >= 200 && status < 300 && done === undefined)
      faults.push(`${status}, and nothing done`);
    return faults.map((fault) => `${route.method} ${route.url}, ${trial.way}, ${trial.name}: ${fault}`);
  });
}

test('nothing is done for a caller after its revocation was answered, whenever that comes', async () => {
  const tally = new Tally();
  const faults: string[] = [];
  const queue = [...world.routes];
  const work = async () => {
    for (let route = queue.shift(); route; route = queue.shift()) faults.push(...(await faultsOf(route, tally)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  tell(`revoked at ${MOMENTS} moments on ${world.routes.length} routes: ${tally}`);
  expect(faults).toEqual([]);
  expect(world.routes.filter(({ changes }) => changes)).toHaveLength(routesWithRequests().length);
  // Else the moments were all on one side, and nothing was shown.
  for (const side of ['finished after', 'in time', 'effects before']) expect(tally.of(side)).toBeGreaterThan(0);
});
