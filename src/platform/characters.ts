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
