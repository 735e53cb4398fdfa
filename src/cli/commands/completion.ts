import { readFileSync } from 'node:fs';
import type { CommandClass } from 'clipanion';
import { onlyIn, SvcCommand, type SvcContext } from '../command.js';

/** `svc completion <shell>`: prints the script that makes the shell complete `svc`. */
function completionCommand(shell: string, { now, always }: { now: string; always: string }): CommandClass<SvcContext> {
  return class extends SvcCommand {
    static override paths = [['completion', shell]];
    static override usage = SvcCommand.Usage({
      description: `print the completion script for ${shell}`,
      details:
        'With it, the Tab key completes commands, options, their choices, profiles, and the names of users, groups and ' +
        'other resources. Those names are read from the service that the line and the profile name, within a second.',
      examples: [
        ['For this shell', now],
        ['For every shell to come', always],
      ],
    });

    protected override readonly unavailable = onlyIn(['text'], 'a script');

    async execute(): Promise<void> {
      void this.format;
      await this.terminal.out(readFileSync(new URL(`../completion/svc.${shell}`, import.meta.url), 'utf8'));
    }
  };
}

export const COMMANDS = [
  completionCommand('bash', {
    now: 'source <(svc completion bash)',
    always: `echo 'source <(svc completion bash)' >> ~/.bashrc`,
  }),
  completionCommand('fish', {
    now: 'svc completion fish | source',
    always: 'svc completion fish > ~/.config/fish/completions/svc.fish',
  }),
  completionCommand('zsh', {
    now: 'source <(svc completion zsh)',
    always: `echo 'source <(svc completion zsh)' >> ~/.zshrc`,
  }),
];
