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
