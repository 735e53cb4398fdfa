import { domainToASCII, domainToUnicode } from 'node:url';
import { LIMITS } from '../contract/limits.js';

/**
 * What keeps a text from being the name of a domain: a fully qualified host name (RFC 1123) in lower case, without the
 * dot of the root, names in other scripts as A-labels (RFC 5890). Undefined for a sound one.
 */
export function hostNameFault(name: string): string | undefined {
  if (name.startsWith('*.')) return 'must not begin with a wildcard; name the domain, and set spec.acceptAllSubdomains';
  if (name.endsWith('.')) return 'must not end with a dot';
  if (!isAscii(name)) return `must have its labels in other scripts as A-labels${suggestion(domainToASCII(name))}`;
  if (name !== name.toLowerCase()) return 'must be in lower case';
  const labels = name.split('.');
  if (labels.length < 2) return 'must be a fully qualified host name, such as www.example.com';
  for (const label of labels) {
    const fault = labelFault(label);
    if (fault !== undefined) return fault;
  }
  if (!/^[a-z]/.test(labels.at(-1) ?? ''))
    return 'must end with a label that begins with a letter; addresses are no names';
  return undefined;
}

function labelFault(label: string): string | undefined {
  if (label === '') return 'must not have an empty label';
  if (label.length > LIMITS.hostLabel) return `must have labels of at most ${LIMITS.hostLabel} characters`;
  if (!/^[a-z0-9-]+$/.test(label)) return 'must have only letters, digits and hyphens in its labels';
  if (label.startsWith('-') || label.endsWith('-')) return 'must not have labels that begin or end with a hyphen';
  if (label.startsWith('xn--') && !isALabel(label)) return `has the label ${label}, which is not a valid A-label`;
  return undefined;
}

/** Whether it encodes a label of another script in its canonical form. */
function isALabel(label: string): boolean {
  const decoded = domainToUnicode(label);
  return !isAscii(decoded) && domainToASCII(decoded) === label;
}

function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0x7f) return false;
  return true;
}

function suggestion(name: string): string {
  return name === '' ? '' : `: ${name}`;
}
