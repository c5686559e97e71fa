import { Context } from '@temporalio/activity';
import type { Snapshot } from '../../contract/incident';
import type { ProviderActivities, RunOrder, RunReport, SandboxActivities } from '../../contract/activities';

/** A report of a run that succeeded. */
export function goodReport(
  order: Pick<RunOrder, 'attemptId' | 'threadId'>,
  change: Partial<RunReport> = {},
): RunReport {
  return {
    outcome: 'completed',
    code: null,
    error: null,
    threadId: order.threadId ?? `0199aaaa-bbbb-7ccc-8ddd-${order.attemptId.slice(-12)}`,
    codexHome: '/codex-home',
    workspacePath: '/workspace',
    cliVersion: 'codex-cli 0.171.0',
    observation: { text: 'done', bytes: 4 },
    threadUsage: { inputTokens: 100, cachedInputTokens: 0, outputTokens: 10 },
    exit: { code: 0, signal: null, forced: false },
    startedAt: '2026-01-01T00:00:00.000Z',
    endedAt: '2026-01-01T00:00:01.000Z',
    spawns: 1,
    strays: 0,
    warnings: [],
    ...change,
  };
}

/** What a host saves of a lost attempt. */
const snapshotOf = (attemptId: string): Snapshot => ({
  at: '2026-01-01T00:00:02.000Z',
  lastMessage: 'half of it',
  events: ['{"type":"turn.started"}'],
  openTools: 1,
  changes: [' M a.txt'],
  diff: '-old\n+new\n',
  diffBytes: 10,
  directory: `/home/runs/${attemptId}`,
  workspacePath: '/workspace',
});

/** Host activities that play a script instead of starting processes; they note every order. */
export class FakeHost {
  readonly orders: RunOrder[] = [];
  readonly stopped: string[] = [];
  /** Whether no stop comes to an end. */
  isStuck = false;
  private readonly released = new Map<string, RunReport>();
  run: (order: RunOrder) => Promise<RunReport> | RunReport = (order) => goodReport(order);
  probe: ProviderActivities['probeRun'] = () =>
    Promise.resolve({ liveness: 'dead', evidence: ['nothing is left of it'] });
  evidence: ProviderActivities['saveEvidence'] = ({ attemptId }) => Promise.resolve(snapshotOf(attemptId));
  criteria: SandboxActivities['checkCriteria'] = ({ commands }) =>
    Promise.resolve(commands.map((command) => ({ command, met: true, exitCode: 0, output: '' })));

  /** A run that lasts until it is released or stopped. */
  readonly hold = async (order: RunOrder): Promise<RunReport> => {
    for (;;) {
      const report = this.released.get(order.attemptId);
      if (report !== undefined) return report;
      if (this.stopped.includes(order.attemptId))
        return goodReport(order, { outcome: 'stopped', code: 'user_stopped' });
      Context.current().heartbeat();
      await Context.current().sleep(20);
    }
  };

  release(order: RunOrder, report: Partial<RunReport> = {}): void {
    this.released.set(order.attemptId, goodReport(order, report));
  }

  activities(): ProviderActivities & SandboxActivities {
    return {
      runProvider: async (order) => {
        if (!this.orders.some(({ attemptId }) => attemptId === order.attemptId)) this.orders.push(order);
        return this.run(order);
      },
      stopRun: ({ attemptId }) => {
        if (this.isStuck) return Promise.reject(new Error('the attempt has not ended yet'));
        this.stopped.push(attemptId);
        return Promise.resolve({ ended: true });
      },
      probeRun: (order) => this.probe(order),
      removeRuns: ({ attemptIds }) => Promise.resolve({ removed: attemptIds.length }),
      saveEvidence: (order) => this.evidence(order),
      checkCriteria: (order) => this.criteria(order),
    };
  }
}
