import { Live } from '../support/live.js';
import { withTerminal } from '../support/terminal.js';
import { COMMON_CHECKS, ON_A_TERMINAL, profiles } from './common-checks.js';
import { EVERY_COMMAND } from './every-command.js';
import { commandsOf, readPromises } from './table.js';

const { common, user, group } = readPromises();
const COMMANDS = [...commandsOf(user), ...commandsOf(group)];

let live: Live;
beforeAll(async () => {
  live = await Live.start();
});
afterAll(() => live.remove());

describe('an option that every command has does what the specification says', () => {
  it('has a check for each promise, and no other', () => {
    expect(Object.keys(COMMON_CHECKS).sort()).toEqual([...common].sort());
  });

  const [onTerminal, anywhere] = [ON_A_TERMINAL, common.filter((one) => !ON_A_TERMINAL.includes(one))];
  it.each(anywhere)('%s', (promise) => COMMON_CHECKS[promise]?.(live));
  for (const promise of onTerminal) {
    withTerminal(promise, async () => {
      await COMMON_CHECKS[promise]?.(live);
    });
  }
});

describe('every command has all of these options', () => {
  it('knows a call for each command of the tables', () => {
    expect(Object.keys(EVERY_COMMAND).sort()).toEqual([...COMMANDS].sort());
  });

  it.each(COMMANDS)('svc %s', async (command) => {
    const { args, env = {}, input = '' } = (await EVERY_COMMAND[command]?.(live)) ?? { args: [] };
    const request = ['--org', live.org.name, '--token', live.org.key, '--endpoint', live.service.url, '-k'];
    const rest = ['--output=names', '--color', 'false', '--ts=iso', '--max=-1', '--profile', 'wrong', '-v', '-d'];
    const options = { env: { ...profiles(live), ...env }, input };
    const { code, stdout, stderr } = await live.svc([...command.split(' '), ...args, ...request, ...rest], options);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${live.service.url}/org/${live.org.name}/`)]);
    expect(stderr).toMatch(/^> (GET|POST|PATCH|PUT|DELETE) /m);
    expect(stdout + stderr).not.toContain(live.org.key);
    expect(stdout + stderr).not.toContain('\u001b');
  });

  it.each(COMMANDS)('svc %s --help', async (command) => {
    const { code, stdout, stderr } = await live.svc([...command.split(' '), '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`svc ${command}`);
    for (const option of common.filter((one) => /^--\w+$/.test(one))) expect(stdout).toContain(option);
  });
});
