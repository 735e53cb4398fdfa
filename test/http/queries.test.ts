import { openMailbox } from '../support/mail.js';
import { startService } from '../support/service.js';
import { queryLanguage, type World } from './queries.runner.js';

let world: World;

beforeAll(async () => {
  const mailbox = await openMailbox();
  world = { mailbox, service: await startService({ env: mailbox.env }) };
});

afterAll(async () => {
  await world.service.remove();
  await world.mailbox.close();
});

queryLanguage(() => world);
