import { once } from 'node:events';
import { type ClientRequest, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { BodyBudget } from '../../src/http/server/body-budget.js';

const WAIT_MS = 30;
const BODY = Buffer.alloc(400, 'x');

/** A server with room for 1,000 bytes, of which an organization may have 750. Its handler ends when it is told. */
async function serverWith(budget: BodyBudget) {
  const server = Fastify();
  const handled: (() => void)[] = [];
  server.decorateRequest('principal', null);
  server.addHook('onRequest', (asked, _reply, done) => {
    Object.assign(asked, { principal: { org: asked.headers['x-org'] } });
    done();
  });
  server.addHook('preParsing', budget.admit);
  server.addHook('preHandler', budget.begin);
  server.addHook('onSend', budget.end);
  server.setErrorHandler((error, _request, reply) => reply.code(429).send((error as Error & { code: string }).code));
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  server.post('/', () => new Promise((resolve) => handled.push(() => resolve('done'))));
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { server, handled, port: (server.server.address() as AddressInfo).port };
}

function send(port: number, org: string, headers: Record<string, string | number> = { 'content-length': BODY.length }) {
  return begin(port, org, headers, (sent) => sent.end(BODY));
}

function begin(
  port: number,
  org: string,
  headers: Record<string, string | number>,
  write: (sent: ClientRequest) => void,
) {
  const sent = request({
    port,
    method: 'POST',
    agent: false,
    headers: { 'x-org': org, 'content-type': 'x/y', ...headers },
  });
  sent.on('error', () => undefined);
  write(sent);
  const status = once(sent, 'response').then(([answer]) => {
    answer.resume();
    return answer.statusCode as number;
  });
  status.catch(() => undefined);
  return { sent, status };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

describe('the budget of request bodies', () => {
  let budget: BodyBudget;
  let running: Awaited<ReturnType<typeof serverWith>>;

  beforeEach(async () => {
    budget = new BodyBudget(1_000, WAIT_MS);
    running = await serverWith(budget);
  });

  afterEach(() => running.server.close());

  it('refuses an organization beyond its share with rate_limited, and admits another one', async () => {
    const { port, handled } = running;
    const first = send(port, 'a');
    await until(() => handled.length === 1);
    expect(await send(port, 'a').status).toBe(429);
    const other = send(port, 'b');
    await until(() => handled.length === 2);
    expect(budget.underWay).toBe(800);
    for (const end of handled) end();
    expect(await Promise.all([first.status, other.status])).toEqual([200, 200]);
    await until(() => budget.underWay === 0);
  });

  it('lets a body wait until another one is answered', async () => {
    budget = new BodyBudget(500, 60_000);
    const { server, handled, port } = await serverWith(budget);
    const first = send(port, 'a');
    await until(() => handled.length === 1);
    const next = send(port, 'b');
    handled[0]?.();
    expect(await first.status).toBe(200);
    await until(() => handled.length === 2);
    handled[1]?.();
    expect(await next.status).toBe(200);
    await server.close();
  });

  it('refuses a chunked body when it comes to the bound', async () => {
    const { port, handled } = running;
    const first = send(port, 'a');
    await until(() => handled.length === 1);
    expect(await send(port, 'a', { 'transfer-encoding': 'chunked' }).status).toBe(429);
    handled[0]?.();
    expect(await first.status).toBe(200);
    await until(() => budget.underWay === 0);
  });

  it('keeps the share of a client that has gone until the handler is done with its body', async () => {
    const { port, handled } = running;
    const { sent } = send(port, 'a');
    await until(() => handled.length === 1);
    sent.destroy();
    expect(await send(port, 'a').status).toBe(429);
    expect(budget.underWay).toBe(400);
    handled[0]?.();
    await until(() => budget.underWay === 0);
  });

  /** Announces 400 bytes, and sends one. */
  const dawdle = (port: number, org: string) =>
    begin(port, org, { 'content-length': BODY.length }, (sent) => sent.write('x'));

  it('refuses a body that is slow to arrive while another one waits, and admits that one', async () => {
    budget = new BodyBudget(500, 60_000, WAIT_MS);
    const { server, handled, port } = await serverWith(budget);
    const slow = dawdle(port, 'a');
    await until(() => budget.underWay === 400);
    const next = send(port, 'b');
    expect(await slow.status).toBe(429);
    await until(() => handled.length === 1);
    handled[0]?.();
    expect(await next.status).toBe(200);
    await server.close();
  });

  it('lets a slow body arrive while no other one waits', async () => {
    budget = new BodyBudget(500, 60_000, 1);
    const { server, handled, port } = await serverWith(budget);
    const slow = dawdle(port, 'a');
    await until(() => budget.underWay === 400);
    const small = begin(port, 'b', { 'content-length': 10 }, (sent) => sent.end(Buffer.alloc(10, 'x')));
    await until(() => handled.length === 1);
    slow.sent.end(BODY.subarray(1));
    await until(() => handled.length === 2);
    for (const end of handled) end();
    expect(await Promise.all([slow.status, small.status])).toEqual([200, 200]);
    await server.close();
  });

  it('never refuses a body that has arrived, however long its handler takes', async () => {
    budget = new BodyBudget(500, WAIT_MS, 1);
    const { server, handled, port } = await serverWith(budget);
    const first = send(port, 'a');
    await until(() => handled.length === 1);
    expect(await send(port, 'b').status).toBe(429);
    handled[0]?.();
    expect(await first.status).toBe(200);
    await server.close();
  });
});
