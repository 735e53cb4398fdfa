import { type Options, type Ratios, say } from './figures.ts';
import { Generator, httpRequest, type Load } from './generator.ts';
import { EVENTS_A_RESOURCE, type Seeded, seeded } from './seed.ts';
import { type Server, startService } from './server.ts';

const SIZES = { few: 10_000, many: 1_000_000 };
const PAGE = 50;
const WARM_UP_REQUESTS = 2_000;
const REQUESTS = 20_000;

/** Lists of random resources with the same number of events, among few events and among many, in turns. */
export async function measureList({ rounds, seconds }: Options): Promise<Ratios> {
  const few = await seeded(SIZES.few);
  const many = await seeded(SIZES.many);
  const generator = new Generator();
  const servers = [await startService(few.folder), await startService(many.folder)] as const;
  try {
    const p50 = async (at: 0 | 1, most: number, limit: number) =>
      (await list(generator, servers[at], at === 0 ? few : many, most, limit)).p50;
    for (const at of [0, 1] as const) await p50(at, WARM_UP_REQUESTS, 60);
    const ratios: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      const [short, long] = [await p50(0, REQUESTS, seconds), await p50(1, REQUESTS, seconds)];
      say(`round ${round}: list p50 ${short.toFixed(3)} ms among few, ${long.toFixed(3)} ms among many`);
      ratios.push(long / short);
    }
    return new Map([['list-at-a-million', ratios]]);
  } finally {
    generator.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

function list(generator: Generator, server: Server, data: Seeded, most: number, seconds: number): Promise<Load> {
  const resources = data.events / EVENTS_A_RESOURCE;
  const headers = { authorization: `Bearer ${data.key}` };
  const requests = Array.from({ length: most }, () => {
    const name = encodeURIComponent(data.resourceName(Math.floor(Math.random() * resources)));
    return httpRequest('GET', `/audit/org/bench/resource/name/${name}?pageSize=${PAGE}`, headers);
  });
  return generator.run({ port: server.port, requests, connections: 1, seconds, most, status: '200' });
}
