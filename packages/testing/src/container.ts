import { randomUUID } from 'node:crypto';
import { AbstractStartedContainer, GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { createOrg, type TestOrg } from './org.js';

export type { TestOrg };

const PORT = 8080;

/** The image of the service as a container, on the embedded store. Everything that `GenericContainer` has can be set. */
export class ControlServiceContainer extends GenericContainer {
  private readonly rootKey = `root-${randomUUID()}`;

  constructor(image: string) {
    super(image);
    this.withEnvironment({ CONTROL_ROOT_KEY: this.rootKey });
    this.withExposedPorts(PORT);
    this.withWaitStrategy(Wait.forHttp('/health/ready', PORT));
    this.withStartupTimeout(60_000);
  }

  /** Resolves when the service is ready. */
  override async start(): Promise<StartedControlServiceContainer> {
    return new StartedControlServiceContainer(await super.start(), this.rootKey);
  }
}

export class StartedControlServiceContainer extends AbstractStartedContainer {
  constructor(
    started: StartedTestContainer,
    /** The key that creates organizations and maintains the service. */
    readonly rootKey: string,
  ) {
    super(started);
  }

  /** The address of the service. */
  get endpoint(): string {
    return `http://${this.getHost()}:${this.getMappedPort(PORT)}`;
  }

  /** Creates an organization, with a name of its own unless one is given. */
  createOrg(name?: string): Promise<TestOrg> {
    return createOrg(this.endpoint, this.rootKey, name);
  }
}
