import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { answer, closeServers, scriptedServer } from './support/scripted-server.js';
import { closePrompts, openPrompt, shellEnv, withPrograms } from './support/shell.js';
import { svc } from './support/svc.js';
import { SCRIPT } from './support/terminal.js';

const run = promisify(execFile);

const HOSTILE = 'bo\'b $(touch pwned)`touch pwned`;touch pwned!&|>\\"*[x]{a,b}~#:=@example.com';
const USERS = ['ann@example.com', 'ann.lee@example.com', HOSTILE, 'eve\u001b[2J@example.com', 'zoë:x=y@example.com'];

/** A service whose users and groups are those; the shell works in a folder with one file. */
async function setUp() {
  const server = await scriptedServer(({ url, body }, response) => {
    const [, , , kind] = url.split('/');
    const prefix = JSON.parse(body).spec.terms[0]?.value ?? '';
    const names = kind === 'user' ? USERS : ['core', 'devs'];
    const items = names.filter((name) => name >= prefix).map((name) => ({ email: name, name, description: 'd\nd' }));
    answer(response, 200, { kind: 'list', items, links: [] });
  });
  const env = shellEnv({ SVC_ENDPOINT: server.url, SVC_ORG: 'acme', SVC_TOKEN: 'token' });
  const folder = join(env.HOME ?? '', 'work');
  mkdirSync(folder);
  writeFileSync(join(folder, 'a file.json'), '');
  await svc(['profile', 'create', 'production', '--org', 'acme'], {
    env: { HOME: env.HOME ?? '', SVC_CONFIG_DIR: '' },
  });
  return { server, env, folder };
}

afterEach(async () => {
  closePrompts();
  await closeServers();
});

/** Typed with the Tab key, and what `svc` is then called with. */
const LINES: [typed: string, args: string[]][] = [
  ['svc prof\tset\t', ['profile', 'set-default']],
  ['svc completion b\t', ['completion', 'bash']],
  ['EDITOR=vi svc gr\ted\t', ['group', 'edit']],
  ['true | svc help gr\t', ['help', 'group']],
  ['svc group edit -o yaml-\t', ['group', 'edit', '-o', 'yaml-slim']],
  ['svc group edit --output=yaml-\tx', ['group', 'edit', '--output=yaml-slim', 'x']],
  ['svc group edit --repl\t-o json-\t d\t', ['group', 'edit', '--replace', '-o', 'json-slim', 'devs']],
  ['svc group edit --profile prod\t', ['group', 'edit', '--profile', 'production']],
  ['svc user edit ann@\t', ['user', 'edit', 'ann@example.com']],
  ['svc user edit ann.\t', ['user', 'edit', 'ann.lee@example.com']],
  ['svc "user" \'edit\' ann\\@\t', ['user', 'edit', 'ann@example.com']],
  ['svc user edit bo\t', ['user', 'edit', HOSTILE]],
  ["svc user edit bo\\'b\t", ['user', 'edit', HOSTILE]],
  ['svc user edit zoë:x\t', ['user', 'edit', 'zoë:x=y@example.com']],
  ['svc user edit eve\t', ['user', 'edit', 'eve']],
  ['svc audit publish -f a\t', ['audit', 'publish', '-f', 'a file.json']],
  ['svc audit publish --file=a\t', ['audit', 'publish', '--file=a file.json']],
  ['svc nothing\t', ['nothing']],
];

describe.each([
  ['bash', 'bash --norc --noprofile -i', 'source <(svc completion bash)'],
  ['zsh', 'zsh -f -i', 'autoload -Uz compinit; compinit -u -D; source <(svc completion zsh)'],
])('%s', (shell, command, load) => {
  withPrograms(shell, SCRIPT)('completes what is typed, and quotes it', async () => {
    const { env, folder } = await setUp();
    const show = `svc() { printf '<%s>' "$@" 'end'; echo; }; cd '${folder}'; set +H 2>/dev/null`;
    const prompt = await openPrompt(command, env, `${load}; ${show}`);
    for (const [typed, args] of LINES) {
      const screen = await prompt.type(`${typed}\r`, '<end>');
      expect([typed, screen]).toEqual([
        typed,
        expect.stringContaining([...args, 'end'].map((arg) => `<${arg}>`).join('')),
      ]);
    }
    for (const typed of ['svc user $(touch pwned) \t', 'svc user `touch pwned` a\t', 'svc user "$(touch pwned)" \t']) {
      // Control-U: what is typed here is completed, and not run.
      await prompt.type(`${typed}\u0015svc through\r`, '<through><end>');
    }
    expect(readdirSync(folder)).toEqual(['a file.json']);
  });
});

describe('fish', () => {
  withPrograms('fish')('offers the same, with what each is', async () => {
    const { env, folder } = await setUp();
    const offered = async (line: string) => {
      const script = 'svc completion fish | source; complete -C "$argv[1]"';
      const { stdout } = await run('fish', ['--no-config', '-c', script, line], { env, cwd: folder });
      return stdout.split('\n').filter(Boolean);
    };
    expect(await offered('svc prof')).toEqual([expect.stringMatching(/^profile\tmanage profiles/)]);
    expect(await offered('svc group edit -o yaml')).toEqual(['yaml', 'yaml-slim']);
    expect(await offered('EDITOR=vi svc group edit --output=yaml-')).toEqual(['--output=yaml-slim']);
    expect(await offered('svc group edit --profile p')).toEqual(['production\tacme']);
    expect(await offered('svc group edit ')).toEqual(['core\td\\nd', 'devs\td\\nd']);
    expect(await offered('svc user edit ann@')).toEqual(['ann@example.com\tann@example.com']);
    expect(await offered("svc user edit bo\\'")).toEqual([`${HOSTILE}\t${HOSTILE}`]);
    expect(await offered('svc user edit eve')).toEqual([]);
    expect(await offered('svc audit publish -f a')).toEqual(['a file.json']);
    expect(await offered('svc audit publish --file=a')).toEqual(['--file=a file.json']);
    expect(await offered('svc user (touch pwned) ')).not.toContain('pwned');
    expect(readdirSync(folder)).toEqual(['a file.json']);
  });
});
