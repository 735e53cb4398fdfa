import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import type { Access } from '../../src/http/access.js';

export interface ServedRoute {
  readonly method: string;
  /** With its parameters: `/org/:org/group/:ref`. */
  readonly url: string;
  readonly access: Access | undefined;
}

/** Every route that a server makes while `start` runs: with its access, and those that refuse a path's other methods. */
export async function routesOf<Started>(start: () => Promise<Started>): Promise<{
  readonly started: Started;
  readonly served: readonly ServedRoute[];
  readonly refusing: readonly string[];
}> {
  const made: RouteOptions[] = [];
  const listen = (message: unknown) => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', (route) => {
      made.push({ ...route });
    });
  };
  subscribe('fastify.initialization', listen);
  try {
    const started = await start();
    const isRefusing = ({ method }: RouteOptions) => Array.isArray(method) && method.length > 1;
    const served = made
      .filter((route) => !isRefusing(route))
      .map(({ method, url, config }) => ({ method: String(method), url, access: config?.access }));
    return { started, served, refusing: made.filter(isRefusing).map(({ url }) => url) };
  } finally {
    unsubscribe('fastify.initialization', listen);
  }
}
