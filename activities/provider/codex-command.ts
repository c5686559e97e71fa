import type { RunOrder } from '../../contract/activities';
import { isUuid } from './run-directory';

/** A thread that cannot be named on a command line. */
export class ThreadIdError extends Error {
  readonly code = 'session_not_found';
}

/**
 * Arguments of a Codex run; the prompt comes by standard input, never as an argument.
 * `-C` and `-s` must stand before `resume`: behind it they are a usage error.
 * `reportSchema` is the path of the schema that the last message is asked to follow; Codex does not check it.
 *
 * @throws ThreadIdError when the thread's id is no UUID: Codex would begin a new thread and exit 0.
 */
export function codexArguments(order: RunOrder, workspace: string, reportSchema: string | null = null): string[] {
  const { mode, threadId, policy, attemptId } = order;
  const place = ['exec', '-C', workspace, '-s', policy.sandbox];
  const model = policy.model === null ? [] : ['-m', policy.model];
  const report = reportSchema === null ? [] : ['--output-schema', reportSchema];
  const common = ['--json', '--skip-git-repo-check', ...model, ...report];
  if (mode === 'start') return [...place, ...common, '--thread-source', attemptId, '-'];
  if (threadId === null || !isUuid(threadId)) throw new ThreadIdError(`thread id ${String(threadId)} is no UUID`);
  return [...place, 'resume', ...common, threadId, '-'];
}
