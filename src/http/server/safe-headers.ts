import type { FastifyReply } from 'fastify';

/** Of every answer: what it holds is for the one who asked, and is of the type that it says. */
export const SAFE_HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

const NO_FRAMES = "frame-ancestors 'none'";

/** No page of another site shows one of ours in a frame, whatever policy the page has beside that. */
export function keepOutOfFrames(reply: FastifyReply): void {
  if (!String(reply.getHeader('content-type') ?? '').startsWith('text/html')) return;
  const policy = reply.getHeader('content-security-policy');
  if (String(policy).includes('frame-ancestors')) return;
  reply.header('content-security-policy', policy === undefined ? NO_FRAMES : `${policy}; ${NO_FRAMES}`);
}
