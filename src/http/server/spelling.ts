import { lowerCaseId } from '../../platform/text.js';

/** Names of resources, as the last part of a path, may end with a slash. */
const NAMES = /^\/audit\/org\/[^/]+\/resource\/(name|id)\//;

/** The path that is meant by one with a slash at its end. */
export function withoutTrailingSlash(url: string): string {
  const end = url.includes('?') ? url.indexOf('?') : url.length;
  if (end < 2 || url[end - 1] !== '/' || NAMES.test(url)) return url;
  return url.slice(0, end - 1) + url.slice(end);
}

/** Of a path: its `id` and `ref`. */
export function withLowerCaseIds(params: unknown): void {
  const named = params as Record<string, string | undefined>;
  for (const name of ['id', 'ref']) {
    const value = named[name];
    if (value !== undefined) named[name] = lowerCaseId(value);
  }
}
