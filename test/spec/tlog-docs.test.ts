import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROOF_FIXTURES } from '../support/tlog-fixture.js';

const PAGE = fileURLToPath(new URL('../../docs/proofs.md', import.meta.url));
const INDENT = '    ';
const MARK = '@@ next command @@\n';

/** Blocks of commands, with what the page says they print. */
const sessions = readFileSync(PAGE, 'utf8')
  .split('\n\n')
  .filter((block) => block.startsWith(`${INDENT}$ `));

/** The block with what its commands print now. */
function carriedOut(block: string, cwd: string): string {
  const lines = block.split('\n').map((line) => line.slice(INDENT.length));
  const commands: string[][] = [];
  for (const line of lines) {
    if (line.startsWith('$ ')) commands.push([line]);
    else if (line.startsWith('> ')) commands.at(-1)?.push(line);
  }
  const script = commands.map((command) => `printf '${MARK}'\n${command.map((line) => line.slice(2)).join('\n')}`);
  const { stdout, stderr } = spawnSync('bash', ['-c', `set -u\n${script.join('\n')}`], {
    cwd,
    encoding: 'utf8',
  });
  if (stderr) throw new Error(`${block}\n${stderr}`);
  const outputs = stdout.split(MARK).slice(1);
  const shown = commands.flatMap((command, at) => [...command, ...(outputs[at] ?? '').split('\n').filter(Boolean)]);
  return shown.map((line) => INDENT + line).join('\n');
}

// Its commands are those of Linux.
const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('the commands of docs/proofs.md print what it says', () => {
  const folder = mkdtempSync(join(tmpdir(), 'control-proofs-'));
  try {
    cpSync(fileURLToPath(PROOF_FIXTURES), folder, { recursive: true });
    expect(sessions.length).toBeGreaterThan(8);
    for (const block of sessions) expect(carriedOut(block, folder)).toBe(block);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
