import { isIPv6 } from 'node:net';

/**
 * What counts as one caller when requests are counted by address: an IPv4 address, or the /64 of an IPv6 address, since
 * whoever has one address of a /64 has them all. Text that is no address counts as it is.
 */
export function networkOf(address: string): string {
  const [, version4] = /^::ffff:([\d.]+)$/i.exec(address) ?? [];
  if (version4 !== undefined) return version4;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  const [head = '', tail] = plain.split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const groups = [...before, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${groups.join(':')}::/64`;
}

/** An embedded IPv4 address counts as two groups; it is never among the first four. */
function groupsOf(text: string): string[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}
