import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify';
import type { ControlState } from '../commands/control-state.js';
import { keyHash } from '../commands/key-secrets.js';
import { ControlError } from '../errors.js';
import { mayDo, type Permission, type Principal, principalOf } from '../model/permission.js';

/** Who may call a route: anybody, the holder of the root key, or a principal with this permission in the path's `:org`. */
export type Access = 'public' | 'root' | Permission;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who the request speaks for; null on public routes and for the root key. */
    principal: Principal | null;
  }
  interface FastifyContextConfig {
    access?: Access;
    maxBytes?: number;
    unparsed?: boolean;
  }
}

export interface BodyOptions {
  readonly maxBytes?: number;
  /** The route parses the body itself. */
  readonly unparsed?: boolean;
}

/** Declares who may call the route, and what its body may be. A route without it stops the start. */
export function Guarded(access: Access, options: BodyOptions = {}): MethodDecorator {
  return RouteConfig({ access, ...options });
}

export function requireAccess(route: RouteOptions): void {
  if (route.config?.access === undefined) throw new Error(`the route ${route.method} ${route.url} declares no access`);
}

/**
 * Checks every request before its body is read. A refusal rests on state that was confirmed with the log after the
 * request came in, so a key that was just made works at once.
 */
export class AccessCheck {
  constructor(
    private readonly state: ControlState,
    private readonly rootKeyHash: string,
  ) {}

  readonly hook = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const access = request.routeOptions.config.access;
    // An unknown route has no access to check: its answer is 404 for everybody.
    if (access === undefined || access === 'public') return done();
    const hash = presentedKeyHash(request.headers.authorization);
    if (hash === undefined) return done(unauthenticated());
    if (!this.refusal(request, access, hash)) return done();
    this.state.confirm().then(
      () => done(this.refusal(request, access, hash)),
      (error) => done(error),
    );
  };

  private refusal(request: FastifyRequest, access: Access, hash: string): ControlError | undefined {
    // Both are hashes of 256 random bits: how far they agree tells nothing about the key.
    const root = hash === this.rootKeyHash;
    if (access === 'root') {
      if (root) return undefined;
      return principalOf(this.state.read, hash) ? forbidden() : unauthenticated();
    }
    if (root) return forbidden();
    const principal = principalOf(this.state.read, hash);
    if (!principal) return unauthenticated();
    const { org } = request.params as { org: string };
    if (!mayDo(this.state.read, principal, org, access as Permission)) return forbidden();
    request.principal = principal;
    return undefined;
  }
}

/** `Authorization: <key>` or `Authorization: Bearer <key>` (RFC 6750); the scheme in any case. */
function presentedKeyHash(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = /^bearer /i.test(header) ? header.slice('bearer '.length).trim() : header.trim();
  return key === '' || key.length > 1024 ? undefined : keyHash(key);
}

function unauthenticated(): ControlError {
  return new ControlError('unauthenticated', 'send a valid key as "Authorization: Bearer <key>"');
}

function forbidden(): ControlError {
  return new ControlError('forbidden', 'this key may not do this here');
}
