import { Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kind } from '../../contract/kinds.js';

type Handler = (request: FastifyRequest, reply: FastifyReply, kind: Kind) => unknown;

/**
 * Gives a controller a route for each of the kinds: a method with the prefix and the name of the kind's schema, such as
 * `ofUser`, which calls the method `handler` with the kind.
 */
export function RouteOfEachKind<Method extends string>(
  kinds: readonly Kind[],
  decorate: (kind: Kind) => MethodDecorator,
  handler: Method,
  prefix = 'of',
) {
  return ({ prototype }: { readonly prototype: Readonly<Record<Method, Handler>> }): void => {
    for (const kind of kinds) {
      const name = `${prefix}${kind.schema}`;
      const value = function (this: Record<Method, Handler>, request: FastifyRequest, reply: FastifyReply): unknown {
        return this[handler](request, reply, kind);
      };
      const descriptor = { value, configurable: true, writable: true, enumerable: false };
      Object.defineProperty(prototype, name, descriptor);
      Req()(prototype, name, 0);
      Res()(prototype, name, 1);
      decorate(kind)(prototype, name, descriptor);
    }
  };
}
