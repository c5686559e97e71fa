import type { SandboxActivities } from '../../contract/activities';
import type { CriterionResult } from '../../contract/run';
import { checkCriterion } from './criteria';
import { toSandboxFailure } from './failures';
import type { Workspaces } from './workspaces';

/** What the sandbox activities need. */
export interface SandboxDependencies {
  readonly workspaces: Workspaces;
  /** Tells the server that this activity lives. */
  heartbeat(): void;
  /** Aborted when nobody wants the result of the present activity any more. */
  cancellation(): AbortSignal;
}

/** How often a running check tells that it lives, in milliseconds. */
const HEARTBEAT_MS = 5_000;

/** Makes the activities that work in tasks' workspaces. */
export function createSandboxActivities({
  workspaces,
  heartbeat,
  cancellation,
}: SandboxDependencies): SandboxActivities {
  return {
    async checkCriteria({ task, repository, commands }) {
      const beat = setInterval(heartbeat, HEARTBEAT_MS);
      try {
        const workspace = await workspaces.ensure(task, repository);
        const results: CriterionResult[] = [];
        const signal = cancellation();
        for (const command of commands) {
          signal.throwIfAborted();
          results.push(await checkCriterion(command, workspace, signal));
        }
        signal.throwIfAborted();
        return results;
      } catch (error) {
        return toSandboxFailure(error);
      } finally {
        clearInterval(beat);
      }
    },
  };
}
