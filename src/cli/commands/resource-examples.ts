import type { Kind } from '../kinds.js';

const EXAMPLES: Readonly<Record<Kind['name'], string>> = {
  user: 'ann@example.com',
  group: 'crew',
  serviceaccount: 'robot',
  policy: 'editors',
  domain: 'shop.example.com',
};

/** What a resource of the kind is called in the examples of its commands. */
export const exampleOf = ({ name }: Kind): string => EXAMPLES[name];
