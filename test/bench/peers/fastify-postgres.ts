/**
 * The audit log that a team would write itself: Fastify, one table of PostgreSQL, and an index for each list. It checks
 * no key and no event, knows no idempotency, and answers when PostgreSQL has committed.
 */
import { fastify } from 'fastify';
import pg from 'pg';
import { v7 } from 'uuid';

interface Event {
  readonly eventTime?: string;
  readonly resource: { readonly id: string; readonly name: string };
}

const ORG = 'bench';
const PUBLISHER = '/org/bench/serviceaccount/admin';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS event (
    id uuid PRIMARY KEY, org text NOT NULL, event_time timestamptz NOT NULL, resource_id text NOT NULL,
    resource_name text NOT NULL, publisher text NOT NULL, body jsonb NOT NULL, received bigserial);
  CREATE INDEX IF NOT EXISTS event_time ON event (org, event_time, id);
  CREATE INDEX IF NOT EXISTS event_resource_id ON event (org, resource_id, event_time, id);
  CREATE INDEX IF NOT EXISTS event_resource_name ON event (org, resource_name, event_time, id);
  CREATE INDEX IF NOT EXISTS event_publisher ON event (org, publisher, event_time, id);
  CREATE INDEX IF NOT EXISTS event_received ON event (org, received)`;

const COLUMNS = 'id, org, event_time, resource_id, resource_name, publisher, body';

// Statements with a name are planned once a connection.
const INSERT = { name: 'insert', text: `INSERT INTO event (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)` };
const INSERT_ALL = {
  name: 'insert-all',
  text: `INSERT INTO event (${COLUMNS}) SELECT * FROM
    unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::text[], $7::jsonb[])`,
};
const LIST = {
  name: 'list',
  text: `SELECT body FROM event WHERE org = $1 AND resource_name = $2 ORDER BY event_time DESC, id DESC LIMIT 50`,
};

/** Where PostgreSQL is, say the variables that every client of it knows: PGHOST, PGUSER, PGDATABASE. */
const pool = new pg.Pool({ max: Number(process.env.PEER_CONNECTIONS) });
await pool.query(SCHEMA);

const server = fastify({ bodyLimit: 16 * 1024 * 1024 });
server.addContentTypeParser('application/x-ndjson', { parseAs: 'string' }, (_request, body, done) => done(null, body));

server.post<{ Body: Event }>('/events', async ({ body }, reply) => {
  const [id, ...values] = row(body, JSON.stringify(body));
  await pool.query({ ...INSERT, values: [id, ...values] });
  reply.code(201);
  return { id };
});

server.post<{ Body: string }>('/events/bulk', async ({ body }) => {
  const rows = body.split('\n').map((line) => row(JSON.parse(line) as Event, line));
  const columns = COLUMNS.split(', ').map((_, column) => rows.map((values) => values[column]));
  await pool.query({ ...INSERT_ALL, values: columns });
  return { created: rows.length, failed: 0 };
});

server.get<{ Querystring: { resourceName: string } }>('/events', async ({ query }) => {
  const { rows } = await pool.query<{ body: Event }>({ ...LIST, values: [ORG, query.resourceName] });
  return { items: rows.map(({ body }) => body) };
});

function row({ eventTime, resource }: Event, text: string): string[] {
  return [v7(), ORG, eventTime ?? new Date().toISOString(), resource.id, resource.name, PUBLISHER, text];
}

const url = await server.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${JSON.stringify({ msg: 'listening', url })}\n`);
process.once('SIGTERM', () => process.exit(0));
