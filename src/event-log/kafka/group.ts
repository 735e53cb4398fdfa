import { AssignerProtocol } from 'kafkajs';
import type { KafkaLink } from './client.js';
import { CODE } from './codes.js';
import { KafkaFault } from './faults.js';
import type { Connect } from './links.js';
import type { KafkaTopic } from './topics.js';

export interface GroupOptions {
  readonly group: string;
  readonly topic: KafkaTopic;
  readonly connect: Connect;
}

/** Without a heartbeat for so long, the group gives a member's partitions to others. */
export const SESSION_MS = 10_000;

/** How long the group waits until all its members have joined again. */
const REBALANCE_MS = 30_000;

const LEAVE_MS = 2_000;

/** A coordinator that is silent for so long is looked for anew, while the session lasts. */
const BEAT_ANSWER_MS = 3_000;

/** Every member brings the same one, under this name; the one that leads the group does it for all. */
const PROTOCOL = 'round-robin';

interface Joined {
  readonly errorCode: number;
  readonly generationId: number;
  readonly leaderId: string;
  readonly memberId: string;
  readonly members: readonly { readonly memberId: string }[];
}

/**
 * This process as a member of a consumer group, which serves only to share out partitions: no offsets are committed.
 * All methods throw `KafkaFault` when the coordinator does not answer as hoped for; all can be called again then.
 */
export class GroupMember {
  private memberId = '';
  private generation = -1;
  private coordinator: { readonly link: KafkaLink; readonly node: number } | undefined;

  constructor(private readonly options: GroupOptions) {}

  /** Waits until the group has settled; answers the partitions that this member has from then on. */
  async join(signal: AbortSignal): Promise<number[]> {
    for (;;) {
      const joined = await this.requestJoin(signal);
      this.memberId = joined.memberId;
      if (joined.errorCode === CODE.MEMBER_ID_REQUIRED) continue;
      if (joined.errorCode !== 0) throw this.fault('join', joined.errorCode);
      this.generation = joined.generationId;
      const groupAssignment = joined.leaderId === joined.memberId ? this.assign(joined) : [];
      const synced = await this.requestSync(signal, groupAssignment);
      // Meanwhile another member came or went.
      if (synced.errorCode === CODE.REBALANCING) continue;
      if (synced.errorCode !== 0) throw this.fault('sync', synced.errorCode);
      const decoded = AssignerProtocol.MemberAssignment.decode(synced.memberAssignment);
      return [...(decoded?.assignment[this.options.topic.name] ?? [])].sort((a, b) => a - b);
    }
  }

  private requestSync(signal: AbortSignal, groupAssignment: readonly object[]) {
    const args = { generationId: this.generation, groupAssignment };
    return this.request<{ errorCode: number; memberAssignment: Buffer }>(signal, 'SyncGroup', args);
  }

  private requestJoin(signal: AbortSignal): Promise<Joined> {
    const { MemberMetadata } = AssignerProtocol;
    const topics = [this.options.topic.name];
    return this.request(signal, 'JoinGroup', {
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: REBALANCE_MS,
      protocolType: 'consumer',
      groupProtocols: [{ name: PROTOCOL, metadata: MemberMetadata.encode({ version: 0, topics, userData: NOTHING }) }],
    });
  }

  private assign({ members }: Joined): { memberId: string; memberAssignment: Buffer }[] {
    const { name, partitions } = this.options.topic;
    return members
      .map(({ memberId }) => memberId)
      .sort()
      .map((memberId, index, all) => {
        const own = Array.from({ length: partitions }, (_, at) => at).filter((at) => at % all.length === index);
        const assignment = { version: 0, assignment: { [name]: own }, userData: NOTHING };
        return { memberId, memberAssignment: AssignerProtocol.MemberAssignment.encode(assignment) };
      });
  }

  /** Whether the partitions are still this member's. When they are not, the group has to be joined again. */
  async beat(signal: AbortSignal): Promise<boolean> {
    const args = { groupGenerationId: this.generation };
    const late = setTimeout(() => this.disconnect(), BEAT_ANSWER_MS);
    const beat = this.request<{ errorCode: number }>(signal, 'Heartbeat', args);
    const { errorCode } = await beat.finally(() => clearTimeout(late));
    if (errorCode === 0) return true;
    if (errorCode === CODE.REBALANCING || errorCode === CODE.ILLEGAL_GENERATION) return false;
    const fault = this.fault('heartbeat', errorCode);
    if (errorCode === CODE.UNKNOWN_MEMBER) return false;
    throw fault;
  }

  /** Best effort: a member that the group does not see leave is missed after `SESSION_MS`. */
  async leave(): Promise<void> {
    try {
      if (this.memberId !== '') await this.request(AbortSignal.timeout(LEAVE_MS), 'LeaveGroup', {});
    } catch {
      // Then the session runs out.
    }
    this.disconnect();
  }

  private async request<Answer>(
    signal: AbortSignal,
    api: 'JoinGroup' | 'SyncGroup' | 'Heartbeat' | 'LeaveGroup',
    args: object,
  ): Promise<Answer> {
    const abort = () => this.disconnect();
    signal.addEventListener('abort', abort);
    try {
      this.coordinator ??= await this.find(signal);
      const { link, node } = this.coordinator;
      if (signal.aborted) throw new KafkaFault('Kafka did not answer in time', false);
      return await link.request<Answer>(node, api, { groupId: this.options.group, memberId: this.memberId, ...args });
    } catch (error) {
      this.disconnect();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  private async find(signal: AbortSignal): Promise<{ link: KafkaLink; node: number }> {
    const link = await this.options.connect(signal);
    try {
      const [any = -1] = link.metadata.brokers.keys();
      const found = await link.request<{ errorCode: number; coordinator: { nodeId: number } }>(
        any,
        'GroupCoordinator',
        { groupId: this.options.group, coordinatorType: 0 },
      );
      if (found.errorCode !== 0) throw this.fault('coordinator', found.errorCode);
      return { link, node: found.coordinator.nodeId };
    } catch (error) {
      link.close();
      throw error;
    }
  }

  /** What the coordinator does not know, or is not the coordinator of, has to be found anew. */
  private fault(what: string, errorCode: number): KafkaFault {
    if (errorCode === CODE.UNKNOWN_MEMBER) this.memberId = '';
    this.disconnect();
    return new KafkaFault(`group ${this.options.group}: ${what}: error ${errorCode}`, true);
  }

  private disconnect(): void {
    this.coordinator?.link.close();
    this.coordinator = undefined;
  }
}

const NOTHING = Buffer.alloc(0);
