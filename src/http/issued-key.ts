import type { FastifyReply } from 'fastify';
import type { IssuedKey } from '../commands/key.js';
import { parseLink } from '../contract/links.js';
import { keyViewOf } from '../model/views.js';
import { sendJson } from './answers/resource.js';

/** 201 when reads show the key; 202 when it is issued, and works, but the wait for the views ran out. */
export function sendIssuedKey(reply: FastifyReply, { state, searchable, key }: IssuedKey): void {
  const links = [{ rel: parseLink(state.principal)?.kind, href: state.principal }];
  reply
    .code(searchable ? 201 : 202)
    .header('location', state.principal)
    .header('cache-control', 'no-store');
  sendJson(reply, JSON.stringify({ kind: 'key', ...keyViewOf(state), links, key }));
}
