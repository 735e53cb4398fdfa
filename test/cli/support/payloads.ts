const ESC = '\u001b';
const code = (point: number): string => String.fromCodePoint(point);
const range = (from: number, to: number): string[] => Array.from({ length: to - from + 1 }, (_, n) => code(from + n));

/** What takes over a terminal, or makes text look like what it is not. */
const SEQUENCES: readonly string[] = [
  `${ESC}[2J${ESC}[H`,
  `${ESC}[31mred${ESC}[0m`,
  `${ESC}]0;title\u0007`,
  `${ESC}]52;c;cm0gLXJmIC8=\u0007`,
  `${ESC}]8;;http://evil.example${ESC}\\link${ESC}]8;;${ESC}\\`,
  `${ESC}P$q"p${ESC}\\`,
  `${ESC}[6n`,
  `${ESC}c`,
  '\u009b31mred',
  '\u009d0;title\u009c',
  'safe\rfake',
  'safe\b\b\b\bfake',
  '\r\n- injected: true',
  '\u202egnp.exe',
  '\u2066\u2067isolated\u2069',
  'zero\u2060width\ufeff',
  '\u2028line\u2029paragraph',
  '\u061c\u200e\u200fmarks',
];

/** Every C0 control but the line feed, DEL, nine C1 controls, and what is made of them: sixty. */
export const PAYLOADS: readonly string[] = [
  ...range(0x00, 0x1f).filter((char) => char !== '\n'),
  '\u007f',
  ...[0x80, 0x84, 0x85, 0x8d, 0x90, 0x98, 0x9b, 0x9c, 0x9d, 0x9f].map(code),
  ...SEQUENCES,
];

/** What no output may hold: controls but the line feed, and characters that steer the direction of text. */
export const RAW =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;

/** Text of the languages of the formats, to be shown as it is. */
export const SYNTAX: readonly string[] = [
  `\${path.module}`,
  '$${already}',
  '%{ if true }x%{ endif }',
  '$$$${many}',
  '"quoted" \'single\' `back`',
  '\\u001b \\n \\',
  '{{ template }}',
  '- item',
  'key: value',
  '# comment',
  '&anchor *alias',
  '!!js/function x',
  'yes',
  'null',
  '~',
  '1e3',
  '0x1F',
  '2024-01-01',
  '<<',
  '%YAML',
  '--- |\n  text\n...',
  'two\nlines',
  'EOT\nEOF',
  '日本語 👩‍👩‍👧 é',
  '/* comment */ // too',
];
