import type { Way } from './parts';
import { afterDependency, byProject, cancelled, reviewed, swept } from './record-ways';
import { reopened, restored, retried, rolledOver, stopped } from './run-ways';

/** Every path but the happy ones, by its name in the table. */
export const WAYS: Readonly<Record<string, Way>> = {
  stopped,
  'failed and retried on its thread': retried,
  'reopened and run again': reopened,
  "run by a project's queue": byProject,
  'waited for a dependency': afterDependency,
  'reviewed and approved': reviewed,
  'cancelled with one child': cancelled,
  'claimed and failed by a sweep': swept,
  'terminated and restored': restored,
  'rolled over in mid-run': rolledOver,
};
