import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { auditTask, createTask } from '../../../client/index';
import { valueOf } from '../../../client/outcome';
import { DEFAULT_AGENT } from '../../../contract/agent';
import { taskWorkflowId, WORKFLOW } from '../../../contract/names';
import { attemptsQuery } from '../../../contract/run';
import { whyQuery } from '../../../contract/task';
import { markedWith } from '../../helpers/outside-view';
import type { Random } from '../../helpers/random';
import { Shot } from '../shot';
import { BOUND_MS, type Rest, type Seen } from './judgement';
import type { Lane, Target } from './lane';
import type { Point } from './points';

/** How often a person goes on with a task that did not complete. */
const ROUNDS = 6;
const LOOK_MS = 20;
const CALL_MS = 5_000;
/** Milliseconds after a dispatch within which a moment of chance lies; the real Codex takes longer. */
const CHANCE_MS = { stub: 1_500, codex: 5_000 } as const;
/** Codes whose hint is to go on in a new thread. */
const THREAD_IS_GONE = ['session_not_found', 'thread_empty'];
const PROMPT = 'Do it.\n@shell sleep 1\n@say finished';

/** One kill: when, and of what. */
export interface StrikeOrder {
  /** Null: a moment of chance. */
  readonly point: Point | null;
  readonly target: Target;
  /** How often: a task that did not complete after the first kill is hit again when it goes on. */
  readonly kills: 1 | 2;
}

/** What one order came to. */
export interface StrikeResult extends StrikeOrder {
  readonly provider: string;
  /** What was killed each time; fewer than ordered when the task did not come to the point. */
  readonly struck: readonly Target[];
  readonly killed: number;
  readonly seen: Seen;
}

/** Has a task done, kills something at a point of it, and goes on with it as a person would until it is completed. */
export class Strike {
  private readonly struck: Target[] = [];
  private killed = 0;
  private readonly before: number;
  private readonly doublesBefore: number;
  private task: WorkflowHandle | undefined;
  private taskId = '';

  constructor(
    private readonly lane: Lane,
    private readonly order: StrikeOrder,
    private readonly random: Random,
  ) {
    this.before = lane.provider.allStarts().length;
    this.doublesBefore = lane.provider.doubles().length;
  }

  async run(): Promise<StrikeResult> {
    const { lane } = this;
    const draft = { title: 'survive', description: PROMPT, workspace: lane.machine.repository, acceptance: ['true'] };
    this.taskId = valueOf(await createTask(lane.session, draft)).task.id;
    const { tenantId } = lane.session.home;
    this.task = lane.server.client.workflow.getHandle(taskWorkflowId({ tenantId, taskId: this.taskId }));
    const rests: (Rest | null)[] = [];
    let replaceThread = false;
    for (let round = 0; round < ROUNDS; round += 1) {
      const rest = await this.round(round < this.order.kills, replaceThread);
      rests.push(rest);
      if (rest === null || rest.status === 'completed') break;
      replaceThread = rest.code !== null && THREAD_IS_GONE.includes(rest.code);
      if (rest.attention === 'recovery' && this.random.chance(0.25)) await this.send('decide', { decision: 'abandon' });
    }
    return {
      ...this.order,
      provider: lane.name,
      struck: this.struck,
      killed: this.killed,
      seen: await this.look(rests),
    };
  }

  /** Dispatches the task, kills something if it is to, and waits until it rests. */
  private async round(isHit: boolean, replaceThread: boolean): Promise<Rest | null> {
    const { point } = this.order;
    const { provider } = this.lane;
    const isHeld = isHit && (point === null ? this.random.chance(0.5) : point.isLate !== true);
    if (isHeld) provider.hold();
    else provider.release();
    if (isHeld && point?.name === 'unnamed') provider.mute();
    if (isHit && point !== null) this.lane.arm(point.name);
    const dispatched = this.send('dispatch', {
      agentId: DEFAULT_AGENT,
      completion: 'criteria',
      replaceThread,
    });
    const since = isHit ? await this.strike(dispatched) : performance.now();
    if (point !== null) this.lane.disarm(point.name);
    provider.release();
    const [rest] = await Promise.all([this.settled(dispatched, since), this.lane.restore()]);
    return rest;
  }

  /** Sends a request until it is answered; the id of the attempt where there is one. */
  private async send(kind: string, content: Record<string, unknown>): Promise<string | undefined> {
    const reply = await new Shot(this.handle, kind, content).send();
    if ('refused' in reply) return undefined;
    return (reply.answer as { attemptId?: string }).attemptId;
  }

  /** Kills at the moment of the order; answers when that was. */
  private async strike(dispatched: Promise<string | undefined>): Promise<number> {
    const { point } = this.order;
    const attemptId = point === null ? await this.atRandom(dispatched) : await dispatched;
    if (point !== null && !(await this.comesTo(point, attemptId))) return performance.now();
    const since = performance.now();
    const { target } = this.order;
    const killed = await this.lane.kill(target, attemptId);
    this.killed += killed;
    if (killed > 0) this.struck.push(target);
    // At a moment of chance there may be no runner or provider; what is told is what was killed.
    else if (point === null) this.struck.push(await this.killHost());
    return since;
  }

  private async killHost(): Promise<Target> {
    this.killed += await this.lane.kill('host', undefined);
    return 'host';
  }

  private async atRandom(dispatched: Promise<string | undefined>): Promise<string | undefined> {
    let attemptId: string | undefined;
    void dispatched.then((id) => (attemptId = id));
    await sleep(this.random.next() * CHANCE_MS[this.lane.name === 'codex' ? 'codex' : 'stub']);
    return attemptId;
  }

  /** Waits for a point; false when the task came to rest, or the bound, without it. */
  private async comesTo(point: Point, attemptId: string | undefined): Promise<boolean> {
    const deadline = performance.now() + BOUND_MS;
    while (attemptId !== undefined && performance.now() < deadline) {
      const isThere =
        point.found === 'stands' ? this.lane.isReached(point.name) : await this.hasTrace(point, attemptId);
      if (isThere && this.hasVictim(attemptId)) return true;
      if ((await this.restNow()) !== undefined) return false;
      await sleep(2);
    }
    return false;
  }

  /** Whether the provider is up that is to be killed: it stands in the process table before it has begun. */
  private hasVictim(attemptId: string): boolean {
    const isProviderMeant = this.order.target === 'provider' || this.order.target === 'executor';
    return !isProviderMeant || this.lane.provider.processOf(attemptId).length > 0;
  }

  private async hasTrace({ name }: Point, attemptId: string): Promise<boolean> {
    const { machine } = this.lane;
    if (name === 'settled') return this.hasReceipt();
    const isStarted = this.lane.provider.processOf(attemptId).length > 0 && machine.hasRunner(attemptId);
    if (name === 'unnamed') return isStarted;
    return isStarted && this.lane.wordsOf(attemptId).threadId !== null && machine.followerOf(attemptId) !== undefined;
  }

  /** Whether the history of the running phase has the receipt. */
  private async hasReceipt(): Promise<boolean> {
    const events = (await this.handle.fetchHistory()).events ?? [];
    const ordered = events.find(
      ({ activityTaskScheduledEventAttributes: order }) => order?.activityType?.name === 'queueReceipt',
    );
    const done = events.map(({ activityTaskCompletedEventAttributes: end }) => String(end?.scheduledEventId));
    return ordered !== undefined && done.includes(String(ordered.eventId));
  }

  /** Waits until the dispatch was answered and the task rests. */
  private async settled(dispatched: Promise<unknown>, since: number): Promise<Rest | null> {
    const deadline = since + BOUND_MS;
    const request = { isAnswered: false };
    void dispatched.then(() => (request.isAnswered = true));
    while (performance.now() < deadline) {
      const rest = request.isAnswered ? await this.restNow() : undefined;
      if (rest !== undefined) return { ...rest, tookMs: performance.now() - since };
      await sleep(LOOK_MS);
    }
    return null;
  }

  private async restNow(): Promise<Omit<Rest, 'tookMs'> | undefined> {
    try {
      // The server knows the phase without a worker; only a record at rest is asked for more.
      if ((await this.asking(() => this.handle.describe())).type !== WORKFLOW.task) return undefined;
      const why = await this.asking(() => this.handle.query(whyQuery));
      if (why.phase !== 'task' || why.attention === 'running' || why.attention === 'stopping') return undefined;
      const attempts = await this.asking(() => this.handle.query(attemptsQuery));
      return { status: why.status, attention: why.attention, code: attempts.at(-1)?.code ?? null };
    } catch {
      // Nobody answers yet.
      return undefined;
    }
  }

  private asking<T>(work: () => Promise<T>): Promise<T> {
    return this.lane.server.client.withDeadline(Date.now() + CALL_MS, work);
  }

  private async look(rests: (Rest | null)[]): Promise<Seen> {
    const { lane } = this;
    const starts = lane.provider.allStarts().slice(this.before);
    const ids = [...new Set(starts.map(({ attemptId }) => attemptId))];
    const audit = await this.audit();
    return {
      starts,
      doubles: lane.provider.doubles().slice(this.doublesBefore),
      rests,
      attempts: audit?.attempts ?? null,
      receipts: audit?.receipts ?? [],
      words: new Map(ids.map((id) => [id, lane.wordsOf(id)])),
      unkept: ids.flatMap((id) => lane.wordsOf(id).threadId ?? []).filter((id) => !lane.hasThread(id)),
      left: await this.left(ids),
    };
  }

  private async audit() {
    const deadline = performance.now() + BOUND_MS;
    while (performance.now() < deadline) {
      const answer = await auditTask(this.lane.session, this.taskId);
      if (answer.success && answer.stale !== true) return answer;
      await sleep(LOOK_MS);
    }
    return undefined;
  }

  /** Marked processes that do not end within the bound. */
  private async left(attemptIds: string[]): Promise<number> {
    const deadline = performance.now() + BOUND_MS;
    for (;;) {
      const marked = attemptIds.flatMap(markedWith);
      if (marked.length === 0 || performance.now() > deadline) return marked.length;
      await sleep(LOOK_MS);
    }
  }

  private get handle(): WorkflowHandle {
    if (this.task === undefined) throw new Error('the task was not created');
    return this.task;
  }
}
