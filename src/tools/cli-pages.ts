import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Cli, type Definition } from 'clipanion';
import { FAMILIES } from '../cli/commands/families.js';
import { Help } from '../cli/output/help.js';
import { Terminal } from '../cli/terminal.js';

const GENERATED = "Generated from the commands' own definitions by `npm run docs`; do not edit.";

/**
 * The reference of `svc`, by path: a page a family with the help of every command, as `svc <command> --help` prints it, and
 * an index. Throws for a command that says nothing of itself, or has no example.
 */
export async function cliPages(folder: string): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  const rows: string[] = [];
  for (const [name, { summary, load }] of FAMILIES) {
    const definitions = Cli.from([...(await load())], { binaryName: 'svc' }).definitions();
    const sections = await Promise.all(definitions.map(section));
    pages.set(`${folder}/${name}.md`, `# svc ${name}\n\n${GENERATED}\n\n${summary}\n\n${sections.join('\n\n')}\n`);
    rows.push(`\n## [svc ${name}](${name}.md)\n\n${summary}\n`, ...definitions.map((one) => row(name, one)));
  }
  return pages.set(`${folder}/README.md`, `# svc\n\n${GENERATED}\n${rows.join('\n')}\n`);
}

function row(family: string, { path, description = '' }: Definition): string {
  return `- [\`${path}\`](${family}.md#${path.replaceAll(' ', '-')}): ${description.trim()}`;
}

async function section(definition: Definition): Promise<string> {
  const { path, description, examples = [] } = definition;
  if (!description || examples.length === 0) throw new Error(`${path} has no description or no example`);
  return `## ${path}\n\n\`\`\`text\n${(await helpOf(definition)).trimEnd()}\n\`\`\``;
}

async function helpOf(definition: Definition): Promise<string> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = new Terminal(streams as unknown as ConstructorParameters<typeof Terminal>[0], { NO_COLOR: '1' });
  await new Help(terminal).showCommand(definition);
  streams.stdout.end();
  return text(streams.stdout);
}
