/**
 * One port in front of several instances, for trying the cluster out: takes turns, passes over an instance that does not
 * accept connections, and says who called in `X-Forwarded-For`, whatever the caller says there. A balancer of your own
 * does the same, and more.
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
let turn = 0;

const server = createServer((incoming, outgoing) => {
  turn += 1;
  forward(incoming, outgoing, turn, targets.length);
});

function forward(incoming, outgoing, first, left) {
  const target = new URL(targets[first % targets.length]);
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
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  sent.on('error', (error) => {
    // Only what never left may be sent to another instance: anything else may have been done already.
    const unsent = error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND' || error.code === 'EHOSTUNREACH';
    if (unsent && left > 1) return forward(incoming, outgoing, first + 1, left - 1);
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

server.listen(port);
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => process.exit(0));
