import { escapePointer } from './pointer.js';

/**
 * The JSON pointer of the first name that stands twice in its object. For text that is known to be JSON and to repeat
 * a name; it runs only to word the refusal.
 */
export function findDuplicateName(text: string): string {
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs);
  const path: { names?: Set<string>; at: string; index: number }[] = [];
  let pending: string | undefined;
  for (const [token] of tokens) {
    const top = path.at(-1);
    if (token === '{') path.push({ names: new Set(), at: '', index: 0 });
    else if (token === '[') path.push({ at: '0', index: 0 });
    else if (token === '}' || token === ']') path.pop();
    else if (token === ',' && top && !top.names) top.at = String(++top.index);
    else if (token.startsWith('"')) pending = token;
    else if (token === ':' && top?.names && pending !== undefined) {
      const name: string = JSON.parse(pending);
      top.at = name;
      if (top.names.has(name)) return path.map(({ at }) => `/${escapePointer(at)}`).join('');
      top.names.add(name);
    }
  }
  return '';
}
