import type { Outcome } from '../contract/failures';
import { canStop, DIRECT_REGISTRY } from '../contract/stoppable';
import { seeDirect, type ShownDirect } from './direct-record';
import type { AttemptLog } from './logs';
import { outcomeOf, refuse } from './outcome';
import { findRunFiles } from './run-files';
import type { Session } from './session';

/** Shows a direct task, open or ended, and whether a stop would act on it (DT-32). */
export async function showDirect(session: Session, id: string): Promise<Outcome<ShownDirect & { canStop: boolean }>> {
  return outcomeOf(async () => {
    const { direct, warnings, stale } = await seeDirect(session, id);
    return {
      direct,
      canStop: canStop(direct, DIRECT_REGISTRY),
      ...(warnings && { warnings }),
      ...(stale && { stale }),
    };
  }, id);
}

/** Finds what the provider of a direct task printed, on this host. */
export async function findDirectLog(session: Session, id: string): Promise<Outcome<AttemptLog>> {
  return outcomeOf(async () => {
    const { handle } = (await seeDirect(session, id)).direct;
    if (handle === null) return refuse('INVALID_ARGUMENT', `direct task ${id} has not been invoked`);
    return { taskId: id, ...(await findRunFiles(session, handle, `direct task ${id}`)) };
  }, id);
}
