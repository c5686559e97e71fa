import { hostQueue, ORCHESTRATOR_QUEUE } from '../contract/names';
import { errnoOf } from './outcome';
import { call, type Session } from './session';

/** Milliseconds after which a poller that was not seen again counts as gone: a poll itself takes up to a minute. */
const FRESH_MS = 75_000;

const KIND = { workflow: 1, activity: 2 } as const;

/** Identities of the workers that poll a queue now, as the server last saw them. */
export async function pollersOf(session: Session, queue: string, kind: keyof typeof KIND): Promise<string[]> {
  const { pollers } = await call(session, (client) =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: queue },
      // eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment -- the enum is the protocol's, not the client's
      taskQueueType: KIND[kind],
    }),
  );
  return pollers
    .filter(({ lastAccessTime }) => Date.now() - Number(lastAccessTime?.seconds ?? 0) * 1_000 < FRESH_MS)
    .map(({ identity }) => identity ?? 'unnamed')
    .filter((identity) => !isGone(identity, session.home.hostId));
}

/** Whether an identity names a worker of this host whose process is no more: the server lists it for minutes. */
export function isGone(identity: string, hostId: string): boolean {
  const [, pid, host] = /^perdure-(?:host|orchestrator) (\d+)@(.+)$/.exec(identity) ?? [];
  if (pid === undefined || host !== hostId) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return errnoOf(error) === 'ESRCH';
  }
}

/** Sentences about the queues that a task of a host needs and that no worker polls. */
export async function missingPollers(session: Session, hostId: string): Promise<string[]> {
  const [orchestrators, hosts] = await Promise.all([
    pollersOf(session, ORCHESTRATOR_QUEUE, 'workflow'),
    pollersOf(session, hostQueue(hostId), 'activity'),
  ]);
  return [
    ...(orchestrators.length === 0 ? [`no worker polls ${ORCHESTRATOR_QUEUE}`] : []),
    ...(hosts.length === 0 ? [`no worker polls ${hostQueue(hostId)}`] : []),
  ];
}
