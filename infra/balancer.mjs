/**
 * One port in front of several instances, for trying the cluster out: takes turns among those that are ready, and says who
 * called in `X-Forwarded-For`, whatever the caller says there. A balancer of your own does the same, and more.
 *
 *   BALANCER_TARGETS=http://api-1:8080,http://api-2:8080 BALANCER_PORT=8080 node balancer.mjs
 */
import { Agent, createServer, request } from 'node:http';

const targets = (process.env.BALANCER_TARGETS ?? '').split(',').filter(Boolean);
const port = Number(process.env.BALANCER_PORT ?? 8080);
// Instances keep idle connections for 75 s; those that are given up sooner here never meet a connection being closed.
const agent = new Agent({ keepAlive: true, timeout: 30_000 });
/** What else a caller might say about where it comes from. */
const CLAIMS = ['forwarded', 'x-real-ip', 'x-forwarded-host', 'x-forwarded-proto'];
/** An instance that stops works on for CONTROL_DRAIN_MS after it is no longer ready: several times as long as this. */
const LOOK_MS = 1_000;
const ANSWER_MS = 2_000;
/** An instance that answers late may be busy; one that does not answer so many times is given up. */
const MOST_LATE = 3;
/** What is known of an instance; the least comes first. Only one that was ready before is taken for a busy one. */
const READY = 0;
const WAS_READY = 1;
const AWAY = 2;
const states = new Map(targets.map((target) => [target, AWAY]));
let turn = 0;

async function look(target, late = 0) {
  const state = states.get(target);
  const { ok, name, isThere } = await ask(`${target}/health/ready`).catch((error) => error);
  const isLate = name === 'TimeoutError' && late + 1 < MOST_LATE;
  if (ok) states.set(target, READY);
  else if (!isLate) states.set(target, isThere || name === 'TimeoutError' ? Math.max(state, WAS_READY) : AWAY);
  setTimeout(look, LOOK_MS, target, isLate ? late + 1 : 0);
}

/** One that is stopping is as good as gone. */
async function ask(url) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) });
  const text = await answer.text();
  return { ok: answer.ok, isThere: !text.includes('the process is stopping') };
}

const server = createServer((incoming, outgoing) => {
  turn += 1;
  const inTurn = targets.map((_, at) => targets[(turn + at) % targets.length]);
  forward(
    incoming,
    outgoing,
    inTurn.sort((one, other) => states.get(one) - states.get(other)),
  );
});

function forward(incoming, outgoing, [first, ...others]) {
  const target = new URL(first);
  const headers = { ...incoming.headers, 'x-forwarded-for': incoming.socket.remoteAddress ?? '' };
  for (const claim of CLAIMS) delete headers[claim];
  const sent = request({
    agent,
    hostname: target.hostname,
    port: target.port,
    method: incoming.method,
    path: incoming.url,
    headers,
    setHost: false,
  });
  sent.on('response', (answer) => {
    // They are about the connection to the instance, which may close it, and not about the caller's.
    const { connection, 'keep-alive': keepAlive, ...passedOn } = answer.headers;
    outgoing.writeHead(answer.statusCode, passedOn);
    answer.pipe(outgoing);
  });
  sent.on('error', (error) => {
    // Only what never left may be sent to another instance: anything else may have been done already.
    const unsent = error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND' || error.code === 'EHOSTUNREACH';
    if (unsent && others.length > 0) return forward(incoming, outgoing, others);
    if (outgoing.headersSent) return outgoing.destroy();
    outgoing.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1' });
    const body = { status: 503, message: 'no instance can be reached', code: 'not_ready', details: {}, id: '' };
    outgoing.end(JSON.stringify(body));
  });
  outgoing.on('close', () => sent.destroy());
  // A body that was read is gone, so it waits until there is a connection to send it over.
  sent.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', () => incoming.pipe(sent));
    else incoming.pipe(sent);
  });
}

for (const target of targets) look(target);
server.listen(port);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
