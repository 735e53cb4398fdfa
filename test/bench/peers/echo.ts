/** What the service is measured against: Fastify as it comes, which parses a JSON body and sends it back. */
import { fastify } from 'fastify';

const server = fastify();
server.post('/', async (request) => request.body);
process.stdout.write(
  `${JSON.stringify({ msg: 'listening', url: await server.listen({ port: 0, host: '127.0.0.1' }) })}\n`,
);
process.once('SIGTERM', () => process.exit(0));
