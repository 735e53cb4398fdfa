import type { TimeStyle } from '../command.js';
import type { Terminal } from '../terminal.js';

/** Shows one resource or event to a person. What it takes is loaded only here: as long as the rest of a command. */
export async function showCard(terminal: Terminal, json: string, style: TimeStyle): Promise<void> {
  const card = await import('../output/card.js');
  await card.showCard(terminal, json, style);
}
