import { statSync } from 'node:fs';
import type { RunOrder } from '../../contract/activities';
import type { FailureCode } from '../../contract/failures';
import { codexHomeOf } from './provider-environment';
import { findRollout } from './rollout-files';
import { lastContext, type ThreadContext } from './rollout-tail';

/** A resume that would not be the same thread under the same policy; nothing was started. */
export class ResumeRefusedError extends Error {
  constructor(
    readonly code: Extract<FailureCode, 'codex_home_missing' | 'policy_widened'>,
    message: string,
  ) {
    super(message);
  }
}

const WIDTH: Readonly<Record<string, number>> = { 'read-only': 0, 'workspace-write': 1, 'danger-full-access': 2 };

/** Whether the thread asked a person for what a run, which has nobody to ask, would simply do. */
const asks = ({ approval, sandbox }: ThreadContext): boolean =>
  approval === 'untrusted' || (approval !== 'never' && sandbox === 'danger-full-access');

/** What a resume differs in from what its thread last recorded. */
export interface Compared {
  /** What is worth a warning. */
  readonly notes: string[];
  /** The directory that the thread worked in, where that is another one; the agent is told both (TD-12). */
  readonly movedFrom: string | null;
}

const ALIKE: Compared = { notes: [], movedFrom: null };

/**
 * Compares a resume with what its thread last recorded; the run itself is given place, sandbox and model anew.
 * @throws ResumeRefusedError when the thread's home is gone, or its policy would become wider.
 */
export async function checkResume(order: RunOrder, env: NodeJS.ProcessEnv, workspace: string): Promise<Compared> {
  const { threadId, codexHome, policy } = order;
  if (order.mode !== 'resume' || threadId === null) return ALIKE;
  const home = codexHomeOf(env, codexHome);
  const own = codexHomeOf(env, null);
  // What the host's own home lacks, Codex says itself.
  if (home !== own && !isDirectory(home)) {
    throw new ResumeRefusedError(
      'codex_home_missing',
      `thread ${threadId} is in ${home}, which is gone; not in ${own}`,
    );
  }
  const rollout = await findRollout(home, threadId);
  // Codex itself says what a thread lacks that has no rollout, or an archived or damaged one.
  if (rollout === null || rollout.isArchived) return ALIKE;
  const context = await lastContext(rollout.path);
  if (context.kind === 'absent') return ALIKE;
  if (context.kind === 'unreadable') {
    return { ...ALIKE, notes: [`the thread's earlier policy could not be read: ${context.why}`] };
  }
  refuseWider(context.value, policy.sandbox);
  const { cwd } = context.value;
  if (cwd === workspace) return ALIKE;
  return { notes: [`the thread last worked in ${cwd}, and goes on in ${workspace}`], movedFrom: cwd };
}

function refuseWider(context: ThreadContext, sandbox: string): void {
  const before = WIDTH[context.sandbox];
  if (before !== undefined && (WIDTH[sandbox] ?? 0) > before) {
    throw new ResumeRefusedError(
      'policy_widened',
      `the thread last ran with the sandbox ${context.sandbox}, this run would have ${sandbox}`,
    );
  }
  if (asks(context)) {
    throw new ResumeRefusedError(
      'policy_widened',
      `the thread last ran with the approval policy ${context.approval}, this run would have never`,
    );
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
