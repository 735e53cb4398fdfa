import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify';
import type { Clock } from '../clock.js';
import type { ControlState } from '../commands/control-state.js';
import type { DeniedAttempts } from '../commands/denied-attempts.js';
import { keyHash } from '../commands/key-secrets.js';
import { ControlError } from '../errors.js';
import { type Principal, principalOf, type Reach } from '../model/access.js';
import { linkTo } from '../model/links.js';
import type { PermissionName, TargetKind } from '../model/permission.js';
import { userOf } from '../model/principals.js';
import { userLink } from '../model/user.js';
import { STATUSES } from './statuses.js';

/** A permission on resources of a kind, and on which of them the route needs it. */
export interface Needed {
  readonly kind: TargetKind;
  readonly permission: PermissionName;
  /** `all`: on every one; `some`: on any, and the route shows only those; else the path parameter that names the one. */
  readonly on: 'all' | 'some' | 'ref' | 'contextName';
  /** The principal that the path names needs no permission. */
  readonly orSelf?: true;
}

/**
 * Who may call a route: anybody, whoever knows what the body must say (`invited`), whoever has a valid key (`keyed`), the
 * holder of the root key, everybody of the path's `:org`, or a principal there with a permission. `public` routes alone
 * answer while the process is not ready.
 */
export type Access = 'public' | 'invited' | 'keyed' | 'root' | 'member' | Needed;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who the request speaks for; null on public routes and for the root key. */
    principal: Principal | null;
    /** Of a route that needs a permission on some resources: on which the caller has it. */
    reach: Reach;
    /** What the caller was refused for want of, where the route does not say it. */
    missing: Pick<Needed, 'kind' | 'permission'> | null;
  }
  interface FastifyInstance {
    readonly access: AccessCheck;
  }
  interface FastifyContextConfig {
    access?: Access;
    maxBytes?: number;
    unparsed?: boolean;
    bodyOptional?: boolean;
  }
}

type Checked = Exclude<Access, 'public' | 'invited'>;

export interface BodyOptions {
  readonly maxBytes?: number;
  /** The route parses the body itself. */
  readonly unparsed?: boolean;
  /** The body may be left out, as that of every DELETE. */
  readonly bodyOptional?: boolean;
}

/** Declares who may call the route, and what its body may be. A route without it stops the start. */
export function Guarded(access: Access, options: BodyOptions = {}): MethodDecorator {
  return RouteConfig({ access, ...options });
}

/** The permission on every resource of the kind. */
export function onAll(kind: TargetKind, permission: PermissionName): Needed {
  return { kind, permission, on: 'all' };
}

/** The permission on any resource of the kind: the route shows only those in `request.reach`. */
export function onSome(kind: TargetKind, permission: PermissionName): Needed {
  return { kind, permission, on: 'some' };
}

/** The permission on the resource that the path names. */
export function onOne(kind: TargetKind, permission: PermissionName): Needed {
  return { kind, permission, on: kind === 'auditctx' ? 'contextName' : 'ref' };
}

/** As `onOne`; the user or service account that the path names may call the route as well. */
export function onSelfOr(kind: 'user' | 'serviceaccount', permission: PermissionName): Needed {
  return { ...onOne(kind, permission), orSelf: true };
}

export function requireAccess(route: RouteOptions): void {
  if (route.config?.access === undefined) throw new Error(`the route ${route.method} ${route.url} declares no access`);
}

/**
 * Checks every request before its body is read. A refusal, and what a list leaves out, rest on state that was confirmed
 * with the log after the request came in, so a key that was just made works at once, and so does what a policy just
 * granted; all else rests on state that was confirmed a moment ago.
 */
export class AccessCheck {
  constructor(
    private readonly state: ControlState,
    private readonly denied: DeniedAttempts,
    private readonly clock: Clock,
    private readonly rootKeyHash: string,
  ) {}

  readonly hook = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const access = request.routeOptions.config.access;
    // An unknown route has no access to check: its answer is 404 for everybody.
    if (access === undefined || access === 'public' || access === 'invited') return done();
    const hash = presentedKeyHash(request.headers.authorization);
    if (hash === undefined) return done(unauthenticated());
    if (this.state.isFresh && !this.refusal(request, access, hash) && !leavesOut(request, access)) return done();
    this.state.confirm().then(
      () => done(this.refusal(request, access, hash)),
      (error) => done(error),
    );
  };

  private refusal(request: FastifyRequest, access: Checked, hash: string): ControlError | undefined {
    // Both are hashes of 256 random bits: how far they agree tells nothing about the key.
    const root = hash === this.rootKeyHash;
    const principal = root ? undefined : principalOf(this.state.read, hash, this.clock.now());
    request.principal = principal ?? null;
    if (access === 'keyed') return root || principal ? undefined : unauthenticated();
    if (access === 'root') {
      if (root) return undefined;
      return principal ? forbidden() : unauthenticated();
    }
    if (root) return forbidden();
    if (!principal) return unauthenticated();
    const { org } = request.params as { org: string };
    if (principal.org !== org) return forbidden();
    return access === 'member' || this.mayDo(request, access, principal) ? undefined : forbidden();
  }

  /**
   * For a permission that only the body tells the need of, on a resource of the caller's organization: throws `forbidden`,
   * as the guard of a route would answer.
   */
  async require(request: FastifyRequest, kind: TargetKind, permission: PermissionName, ref: string): Promise<void> {
    const { principal } = request;
    if (!principal) throw new Error('only a principal of an organization has permissions');
    const { org, link } = principal;
    const has = () => {
      const reach = this.state.rules(org).reach(link, kind, permission);
      return reach === 'all' || reach.has(this.targetOf(org, kind, ref));
    };
    if (this.state.isFresh && has()) return;
    await this.state.confirm();
    if (has()) return;
    request.missing = { kind, permission };
    throw forbidden();
  }

  private mayDo(request: FastifyRequest, { kind, permission, on, orSelf }: Needed, { org, link }: Principal): boolean {
    const reach = this.state.rules(org).reach(link, kind, permission);
    request.reach = reach;
    if (reach === 'all') return true;
    if (on === 'all') return false;
    if (on === 'some') return reach.size > 0;
    const target = this.targetOf(org, kind, (request.params as Record<string, string>)[on] ?? '');
    return reach.has(target) || (orSelf === true && target === link);
  }

  /** The link under which policies name the resource. */
  private targetOf(org: string, kind: TargetKind, ref: string): string {
    const user = kind === 'user' ? userOf(this.state.read, org, ref) : undefined;
    return user ? userLink(org, user.email) : linkTo(org, kind, ref);
  }

  /** What an authenticated caller may not do is told to the auditors, wherever it was found out. */
  readonly noteDenied = (
    request: FastifyRequest,
    reply: FastifyReply,
    _payload: unknown,
    done: HookHandlerDoneFunction,
  ): void => {
    const { principal, missing, method, url, id, remoteIp } = request;
    if (principal && reply.statusCode === STATUSES.forbidden) {
      const { access = 'member' } = request.routeOptions.config;
      const { kind, permission } =
        missing ?? (typeof access === 'object' ? access : { kind: 'org', permission: access });
      const path = url.split('?')[0] ?? '';
      this.denied.note({ principal, kind, permission, method, path, requestId: id, remoteIp });
    }
    done();
  };
}

/** Whether the route shows the caller some resources only, and others not. */
function leavesOut({ reach }: FastifyRequest, access: Checked): boolean {
  return typeof access === 'object' && access.on === 'some' && reach !== 'all';
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
