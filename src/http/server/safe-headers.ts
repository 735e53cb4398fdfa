import type { FastifyReply } from 'fastify';

/** Headers of every response: it is not cached, and its type is not guessed. */
export const SAFE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

const NO_FRAMES = "frame-ancestors 'none'";

/** Forbids other sites to show our pages in a frame, whatever other policy a page has. */
export function keepOutOfFrames(reply: FastifyReply): void {
  if (!String(reply.getHeader('content-type') ?? '').startsWith('text/html')) return;
  const policy = reply.getHeader('content-security-policy');
  if (String(policy).includes('frame-ancestors')) return;
  reply.header('content-security-policy', policy === undefined ? NO_FRAMES : `${policy}; ${NO_FRAMES}`);
}
