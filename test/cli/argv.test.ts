import { canonical, readArguments } from '../../src/cli/args/argv.js';
import { suggest } from '../../src/cli/args/suggest.js';

const SPECS = [
  { names: ['-o', '--output'], takesValue: true },
  { names: ['--max'], takesValue: true },
  { names: ['-f', '--file'], takesValue: true },
  { names: ['--color'], takesValue: false },
  { names: ['-k', '--insecure'], takesValue: false },
  { names: ['-d', '--debug'], takesValue: false },
];

const read = (...argv: string[]) =>
  canonical(readArguments(['audit', 'list', ...argv], SPECS), ['audit', 'list']).slice(2);

describe('reading a command line', () => {
  it.each([
    [
      ['--max', '-1'],
      ['--max=-1', '--'],
    ],
    [['--max=-1'], ['--max=-1', '--']],
    [['--color=false'], ['--no-color', '--']],
    [
      ['--color', 'false'],
      ['--no-color', '--'],
    ],
    [['--no-color'], ['--no-color', '--']],
    [
      ['--color', 'true'],
      ['--color', '--'],
    ],
    [['--color=yes'], ['--color', '--']],
    [
      ['--color', 'id'],
      ['--color', '--', 'id'],
    ],
    [
      ['-o', 'json'],
      ['--output=json', '--'],
    ],
    [['-ojson'], ['--output=json', '--']],
    [['-o=json'], ['--output=json', '--']],
    [['-kd'], ['--insecure', '--debug', '--']],
    [['-kojson'], ['--insecure', '--output=json', '--']],
    [
      ['-f', '-'],
      ['--file=-', '--'],
    ],
    [['--file='], ['--file=', '--']],
    [['--file=a=b'], ['--file=a=b', '--']],
    [
      ['a', '--max', '3', 'b'],
      ['--max=3', '--', 'a', 'b'],
    ],
    [
      ['--', '--max', '-x'],
      ['--', '--max', '-x'],
    ],
  ])('%j', (typed, meant) => {
    expect(read(...typed)).toEqual(meant);
  });

  it('refuses an option without its value, and a switch with an invalid one', () => {
    expect(() => read('--max')).toThrow('--max needs a value');
    expect(() => read('--max', '--color')).toThrow('--max needs a value');
    expect(() => read('--max', '-k')).toThrow('--max needs a value');
    expect(() => read('--color=perhaps')).toThrow('--color is either true or false');
    expect(() => read('--color=constructor')).toThrow('--color is either true or false');
  });

  it('marks unknown options', () => {
    const { options } = readArguments(['--maxx', '3', '-z'], SPECS);
    expect(options.map(({ name, known }) => [name, known])).toEqual([
      ['--maxx', false],
      ['-z', false],
    ]);
  });
});

describe('suggestions', () => {
  const WORDS = ['audit', 'login', 'org', 'profile'];

  it.each([
    ['adit', ['audit']],
    ['audti', ['audit']],
    ['prof', ['profile']],
    ['ogr', ['org']],
    ['xyzzy', []],
  ])('%s', (typed, near) => {
    expect(suggest(typed, WORDS)).toEqual(near);
  });
});
