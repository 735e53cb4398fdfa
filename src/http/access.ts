import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction, RouteOptions } from 'fastify';
import type { DeniedAttempts } from '../commands/denied-attempts.js';
import type { Guesses } from '../commands/guesses.js';
import { keyHash } from '../commands/key-secrets.js';
import type { KeyUses } from '../commands/key-uses.js';
import { ControlError } from '../contract/errors.js';
import { nameOf } from '../contract/links.js';
import { AuthorityCheck, refusalOf, type Standing } from '../control/authority-check.js';
import type { ControlState } from '../control/state.js';
import { type Principal, principalOf, type Reach } from '../model/access.js';
import { type Authority, INVALID_KEY } from '../model/authority.js';
import { gravityOf, type Wanted } from '../model/gravity.js';
import type { PermissionName, TargetKind } from '../model/permission.js';
import { SERVICE_ORG } from '../model/publisher.js';
import { targetLink } from '../model/resource-at.js';
import { keyStream } from '../model/streams.js';
import type { Clock } from '../platform/clock.js';
import type { RefusalAs } from './errors/body.js';
import { STATUSES } from './errors/statuses.js';
import type { JsonDocument } from './json/parse.js';

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
 * Who may call a route: anybody (`public`), a caller who knows the code in the body (`invited`), the holder of a valid key
 * (`keyed`) or of the root key, everybody of the path's `:org` (`member`), the holder of the root key as well
 * (`memberOrRoot`), or a principal there with a permission. Only `public` routes respond while the process is not ready.
 */
export type Access = 'public' | 'invited' | 'keyed' | 'root' | 'member' | 'memberOrRoot' | Needed;

declare module 'fastify' {
  interface FastifyRequest {
    /** Who the request speaks for; null on public routes and for the root key. */
    principal: Principal | null;
    /** Of a route that needs a permission on some resources: on which the caller has it. */
    reach: Reach;
    /** What the access of a principal rests on, as it was judged last; null where no principal is asked for. */
    standing: Standing | null;
    /** What the caller was refused for want of, where the route does not say it. */
    missing: (Pick<Needed, 'kind' | 'permission'> & { readonly target?: string }) | null;
  }
  interface FastifyInstance {
    readonly access: AccessCheck;
  }
  interface FastifyContextConfig {
    access?: Access;
    maxBytes?: number;
    unparsed?: boolean;
    packed?: boolean;
    refusalAs?: RefusalAs;
    parse?: (bytes: Buffer) => JsonDocument;
    bodyOptional?: boolean;
    large?: boolean;
    whileUnready?: boolean;
  }
}

type Checked = Exclude<Access, 'public' | 'invited'>;

export interface BodyOptions {
  readonly maxBytes?: number;
  /** The route parses the body itself. */
  readonly unparsed?: boolean;
  /** The body is a `PackedBody`: of any type, and unpacked if it has a `Content-Encoding`. `maxBytes` bounds it unpacked. */
  readonly packed?: boolean;
  /** In place of the Error body. */
  readonly refusalAs?: RefusalAs;
  /** In place of `parseJson`. */
  readonly parse?: (bytes: Buffer) => JsonDocument;
  /** The body may be left out, as that of every DELETE. */
  readonly bodyOptional?: boolean;
  /** Whether it is one of the organization's large reads (`large-reads.ts`): by default where it shows some resources of many. */
  readonly large?: boolean;
  /** Whether it is served while the process is not ready, because it may be what makes it ready. */
  readonly whileUnready?: boolean;
}

/** Declares who may call the route, and what its body may be. A route without it stops the start. */
export function Guarded(access: Access, options: BodyOptions = {}): MethodDecorator {
  return RouteConfig({ access, ...options });
}

/** The permission on every resource of the kind. */
export function onAll(kind: string, permission: PermissionName): Needed {
  return { kind: kind as TargetKind, permission, on: 'all' };
}

/** The permission on any resource of the kind: the route shows only those in `request.reach`. */
export function onSome(kind: string, permission: PermissionName): Needed {
  return { kind: kind as TargetKind, permission, on: 'some' };
}

/** The permission on the resource that the path names. */
export function onOne(kind: string, permission: PermissionName): Needed {
  return { kind: kind as TargetKind, permission, on: kind === 'auditctx' ? 'contextName' : 'ref' };
}

/** As `onOne`; the user or service account that the path names may call the route as well. */
export function onSelfOr(kind: string, permission: PermissionName): Needed {
  return { ...onOne(kind, permission), orSelf: true };
}

export function requireAccess(route: RouteOptions): void {
  if (route.config?.access === undefined) throw new Error(`the route ${route.method} ${route.url} declares no access`);
}

/**
 * Checks every request before its body is read, and again when the body is there: whoever lost the key or the permission
 * meanwhile is refused. A refusal, and what a list leaves out, rest on state that was confirmed with the log after the
 * request came in, so a key that was just made works at once, and so does what a policy just granted; all else rests on
 * state that was confirmed a moment ago.
 */
export class AccessCheck {
  private readonly authorities: AuthorityCheck;

  constructor(
    private readonly state: ControlState,
    private readonly denied: DeniedAttempts,
    private readonly clock: Clock,
    private readonly rootKeyHash: string,
    private readonly guesses: Guesses,
    private readonly uses: Pick<KeyUses, 'note'>,
  ) {
    this.authorities = new AuthorityCheck(state, clock);
  }

  readonly hook = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const access = request.routeOptions.config.access;
    // An unknown route has no access to check: its answer is 404 for everybody.
    if (access === undefined || access === 'public' || access === 'invited') return done();
    const { authorization } = request.headers;
    if (authorization === undefined) return done(keyMissing());
    const hash = presentedKeyHash(authorization);
    if (hash !== undefined && this.isGranted(request, access, hash)) return done();
    if (hash !== undefined && this.knows(hash)) return this.confirm(request, access, hash, done);
    this.guessed(request, access, hash).then(done, done);
  };

  /**
   * For when the body is there, and nothing keeps the request waiting any more. The root key has no standing: it is good
   * as long as the process runs.
   */
  readonly hookAgain = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const { standing } = request;
    if (!standing || this.authorities.isUnchanged(standing)) return done();
    const access = request.routeOptions.config.access as Checked;
    const { keyHash } = standing.authority;
    if (this.isGranted(request, access, keyHash)) return done();
    this.confirm(request, access, keyHash, done);
  };

  /** Whether no look at the log could change the answer: nothing in the log takes the root key away. */
  private isGranted(request: FastifyRequest, access: Checked, hash: string): boolean {
    return (
      (access === 'root' || this.state.isFresh) && !this.refusal(request, access, hash) && !leavesOut(request, access)
    );
  }

  private confirm(request: FastifyRequest, access: Checked, hash: string, done: HookHandlerDoneFunction): void {
    this.state.confirm().then(
      () => done(this.refusal(request, access, hash)),
      (error) => done(error),
    );
  }

  /** What to refuse, if this process knows no such key. Throws `rate_limited` when such keys keep coming from the address. */
  private async guessed(
    request: FastifyRequest,
    access: Checked,
    hash: string | undefined,
  ): Promise<ControlError | undefined> {
    const guess = this.guesses.begin({ guessed: 'key', address: request.remoteIp });
    if (hash !== undefined) await this.state.confirm();
    const refusal = hash === undefined ? keyMissing() : this.refusal(request, access, hash);
    if (refusal?.code === 'unauthenticated') guess.wrong();
    else guess.right();
    return refusal;
  }

  private knows(hash: string): boolean {
    return hash === this.rootKeyHash || principalOf(this.state.read, hash, this.clock.now()) !== undefined;
  }

  private refusal(request: FastifyRequest, access: Checked, hash: string): ControlError | undefined {
    // Both are hashes of 256 random bits: the length of their common prefix reveals nothing about the key.
    const root = hash === this.rootKeyHash;
    request.standing = null;
    if (access === 'root' || root) {
      const principal = root ? undefined : principalOf(this.state.read, hash, this.clock.now());
      this.identified(request, principal);
      if (root && (admitsRoot(access) || readsJournal(request, access))) return undefined;
      return wrongKey(request, principal, root);
    }
    const authority = this.authorityFor(request, access, hash);
    const { principal, refused, reach } = this.authorities.judge(authority);
    this.identified(request, principal);
    request.reach = reach;
    if (refused || !principal) return refusalOf(refused ?? INVALID_KEY);
    request.standing = this.authorities.standing(authority, principal, reach);
    return undefined;
  }

  private identified(request: FastifyRequest, principal: Principal | undefined): void {
    request.principal = principal ?? null;
    if (principal) this.uses.note(principal.keyHash);
  }

  private authorityFor(request: FastifyRequest, access: Exclude<Checked, 'root'>, keyHash: string): Authority {
    const params = request.params as Record<string, string>;
    const { org = '' } = params;
    // Its own organization: the path names none.
    if (access === 'keyed') return { org: this.state.read(keyStream(keyHash))?.org ?? '', keyHash, needs: [] };
    if (access === 'member' || access === 'memberOrRoot') return { org, keyHash, needs: [] };
    const { kind, permission, on, orSelf = false } = access;
    const where = on === 'all' || on === 'some' ? on : { ref: params[on] ?? '', orSelf };
    return { org, keyHash, needs: [{ kind, permission, on: where }] };
  }

  /**
   * For a permission that only the body tells the need of, on a resource of the caller's organization: throws `forbidden`,
   * as the guard of a route would answer. From then on the request rests on this permission too.
   */
  async require(request: FastifyRequest, kind: TargetKind, permission: PermissionName, ref: string): Promise<void> {
    const { standing } = request;
    if (!standing) throw new Error('only a principal of an organization has permissions');
    const { authority, principal, reach } = standing;
    const wider = { ...authority, needs: [...authority.needs, { kind, permission, on: { ref } }] };
    if (!this.state.isFresh || this.authorities.judge(wider).refused) {
      await this.state.confirm();
      const { refused } = this.authorities.judge(wider);
      if (refused) {
        const target = targetLink(this.state.read, principal.org, kind, ref);
        request.missing = { kind, permission, ...(target !== undefined && { target }) };
        throw refusalOf(refused);
      }
    }
    request.standing = this.authorities.standing(wider, principal, reach);
  }

  /**
   * For each further page of an answer, and for one that took long: rejects as a request would be refused now, also if the
   * caller may see less than when it began.
   */
  async requireStill(request: FastifyRequest): Promise<void> {
    const { standing, log } = request;
    if (!standing) return;
    try {
      request.standing = await this.authorities.requireWhole(standing);
    } catch (error) {
      const { code } = error as Partial<ControlError>;
      log.warn(
        { code, principal: standing.principal.link },
        'an answer was not given to its end: the caller may not read on',
      );
      throw error;
    }
  }

  /** Records every refusal of an authenticated caller for the auditors, wherever it was decided. */
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
        missing ?? (typeof access === 'object' ? access : { kind: 'org', permission: asRecorded(access) });
      const path = url.split('?')[0] ?? '';
      const wanted: Wanted = { kind, permission, ...(kind !== 'org' && this.targetNamed(request, principal, kind)) };
      const gravity = gravityOf(this.state.rules(principal.org), wanted);
      this.denied.note({ principal, ...wanted, gravity, method, path, requestId: id, remoteIp });
    }
    done();
  };

  /** The resource of the caller's organization that a refused request was about, if it exists. */
  private targetNamed({ params, missing }: FastifyRequest, { org }: Principal, kind: TargetKind): { target?: string } {
    const { org: named, ref } = (params ?? {}) as { readonly org?: string; readonly ref?: string };
    const isHere = named === org && ref !== undefined;
    const target = missing?.target ?? (isHere ? targetLink(this.state.read, org, kind, ref) : undefined);
    return target === undefined ? {} : { target };
  }
}

/** What a caller of another organization lacks is to be a member of this one. */
function asRecorded(access: Exclude<Access, Needed>): string {
  return access === 'memberOrRoot' ? 'member' : access;
}

function admitsRoot(access: Checked): boolean {
  return access === 'root' || access === 'keyed' || access === 'memberOrRoot';
}

/** The journal of the service is the root key's to read. */
function readsJournal({ params, method }: FastifyRequest, access: Checked): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  const { org } = (params ?? {}) as { readonly org?: string };
  return isRead && org === SERVICE_ORG && typeof access === 'object' && access.permission === 'readAudit';
}

function keyMissing(): ControlError {
  return new ControlError('unauthenticated', 'the request has no key; send it as "Authorization: Bearer <key>"');
}

/** The refusal of a principal's key where the root key is needed, and of the root key where another one is. */
function wrongKey({ params }: FastifyRequest, principal: Principal | undefined, isRoot: boolean): ControlError {
  const { org } = (params ?? {}) as { readonly org?: string };
  if (principal) {
    return new ControlError(
      'forbidden',
      `only the root key can do this; ${nameOf(principal.link)} of ${principal.org} cannot`,
    );
  }
  if (!isRoot) return refusalOf(INVALID_KEY);
  return new ControlError(
    'forbidden',
    `the root key cannot do this; use a key of ${org === undefined ? 'an organization' : `organization ${org}`}`,
  );
}

/** Whether the route shows the caller some resources only, and others not. */
function leavesOut({ reach }: FastifyRequest, access: Checked): boolean {
  return typeof access === 'object' && access.on === 'some' && reach !== 'all';
}

/**
 * `Authorization: <key>`, `Authorization: Bearer <key>` (RFC 6750), or `Authorization: Basic` with the key as the password of
 * any user (RFC 7617), which is all that some shippers can send; the scheme in any case.
 */
function presentedKeyHash(header: string): string | undefined {
  const [, scheme = '', rest = header] = /^(bearer|basic) (.*)$/is.exec(header) ?? [];
  const key = scheme.toLowerCase() === 'basic' ? passwordIn(rest) : rest.trim();
  return key === '' || key.length > 1024 ? undefined : keyHash(key);
}

function passwordIn(credentials: string): string {
  const decoded = Buffer.from(credentials.trim(), 'base64');
  // The decoder skips what is no base64, and ends at the padding.
  if (decoded.toString('base64') !== credentials.trim()) return '';
  const pair = decoded.toString();
  return pair.includes(':') ? pair.slice(pair.indexOf(':') + 1) : '';
}
