/** Code points, as JSON Schema counts them. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index += 1) {
    const pair = (text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00;
    if (pair) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}

/** The beginning of the text that has at most so many bytes as JSON; whole characters only. */
export function cutTo(bytes: number, text: string): string {
  let used = 0;
  let end = 0;
  for (const character of text) {
    used += Buffer.byteLength(JSON.stringify(character)) - 2;
    if (used > bytes) return text.slice(0, end);
    end += character.length;
  }
  return text;
}

/** One step of a JSON pointer (RFC 6901). */
export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

/** A UUID as this service writes it (RFC 9562 section 4 takes either case); any other text as it is. */
export function lowerCaseId(text: string): string {
  return UUID.test(text) ? text.toLowerCase() : text;
}
