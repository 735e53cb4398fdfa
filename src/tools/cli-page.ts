import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Cli, type Definition } from 'clipanion';
import { FAMILIES } from '../cli/families.js';
import { Help } from '../cli/help.js';
import { Terminal } from '../cli/terminal.js';

/** The reference of `svc`: the help of every command, as `svc <command> --help` prints it. */
export async function cliPage(): Promise<string> {
  const sections: string[] = [];
  for (const [name, { summary, load }] of FAMILIES) {
    sections.push(`## svc ${name}\n\n${summary}`);
    for (const definition of Cli.from([...(await load())], { binaryName: 'svc' }).definitions()) {
      sections.push(`### ${definition.path}\n\n\`\`\`text\n${(await helpOf(definition)).trimEnd()}\n\`\`\``);
    }
  }
  return `# svc

Generated from the commands' own definitions by \`npm run docs\`; do not edit.

${sections.join('\n\n')}
`;
}

async function helpOf(definition: Definition): Promise<string> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const terminal = new Terminal(streams as unknown as ConstructorParameters<typeof Terminal>[0], { NO_COLOR: '1' });
  await new Help(terminal).showCommand(definition);
  streams.stdout.end();
  return text(streams.stdout);
}
