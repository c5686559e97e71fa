import type { RunOrder, RunReport } from '../../contract/activities';
import { FakeHost, goodReport } from '../helpers/fake-host';

/** Shares of 16 of how runs of an erratic host end, by the attempt id, so that a seed repeats them. */
const ENDS: ((host: FakeHost, order: RunOrder) => RunReport | Promise<RunReport>)[] = [
  (_, order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', error: 'it broke' }),
  (_, order) => goodReport(order, { outcome: 'failed', code: 'RUN_FAILED', threadId: order.threadId }),
  (_, order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' }),
  (_, order) => goodReport(order, { outcome: 'interrupted_owner', code: 'interrupted_owner' }),
  heldFor(100),
  heldFor(300),
  heldFor(600),
];

/** A run that lasts a while, unless it is stopped before. */
function heldFor(ms: number) {
  return async (host: FakeHost, order: RunOrder): Promise<RunReport> => {
    setTimeout(() => {
      host.release(order);
    }, ms).unref();
    return host.hold(order);
  };
}

const chanceOf = (attemptId: string): number => parseInt(attemptId.slice(-4), 16) % 16;

/** Looks at a lost executor that come to nothing, as on a host that is away for a while. */
const BLIND_LOOKS = 3;

/** A host whose runs end in every way; it notes each order, as often as it comes. */
export function erraticHost(orders: RunOrder[]): FakeHost {
  const host = new FakeHost();
  const reports = new Map<string, RunReport>();
  const looks = new Map<string, number>();
  host.run = async (order) => {
    orders.push(order);
    const end = ENDS[chanceOf(order.attemptId)];
    const report = reports.get(order.attemptId) ?? (await (end === undefined ? goodReport(order) : end(host, order)));
    reports.set(order.attemptId, report);
    return report;
  };
  host.probe = ({ attemptId }) => {
    const look = (looks.get(attemptId) ?? 0) + 1;
    looks.set(attemptId, look);
    const liveness = chanceOf(attemptId) === 2 && look <= BLIND_LOOKS ? 'unknown' : 'dead';
    return Promise.resolve({ liveness, evidence: ['looked at'] });
  };
  host.criteria = ({ task, commands }) =>
    Promise.resolve(
      commands.map((command) => ({ command, met: reports.size % 3 > 0, exitCode: 0, output: task.taskId })),
    );
  return host;
}
