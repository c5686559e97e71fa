import type { RunOrder } from '../../contract/activities';
import type { Usage } from '../../contract/run';
import { beginnerOf, findMarkedThread, findRollout } from './rollout-files';
import { lastUsage } from './rollout-tail';

/** What Codex itself stored of a run's thread, and what is worth a note. */
export interface StoredThread {
  readonly threadId: string | null;
  readonly usage: Usage | null;
  /** Version of the CLI, where the run began the thread. */
  readonly cliVersion: string | null;
  readonly notes: string[];
}

interface Run {
  readonly codexHome: string;
  /** Named by the run's events; null when they name none. */
  readonly threadId: string | null;
  /** Running total by the run's events. */
  readonly usage: Usage | null;
  /** When it began, in epoch milliseconds. */
  readonly since: number;
}

const tokens = (usage: Usage | null): number => (usage === null ? -1 : usage.inputTokens + usage.outputTokens);

/** Makes up, by the rollouts of the Codex home, for what a run's events did not get to say: its thread and its usage. */
export async function storedThread(order: RunOrder, run: Run): Promise<StoredThread> {
  const found = run.threadId === null ? await threadByMark(order, run) : { threadId: run.threadId, notes: [] };
  const unstored = { ...found, usage: run.usage, cliVersion: null };
  if (found.threadId === null) return unstored;
  const rollout = await findRollout(run.codexHome, found.threadId);
  if (rollout === null) return unstored;
  const cliVersion = order.mode === 'start' ? await beginnerOf(rollout.path) : null;
  const stored = await lastUsage(rollout.path);
  if (stored.kind === 'unreadable') {
    const note = run.usage === null ? [`the tokens of the run could not be read: ${stored.why}`] : [];
    return { ...unstored, cliVersion, notes: [...found.notes, ...note] };
  }
  // Totals only grow. That of the events misses an answer that a kill cut off, and that of a torn rollout its last one.
  const usage = stored.kind === 'found' && tokens(stored.value) >= tokens(run.usage) ? stored.value : run.usage;
  return { ...found, usage, cliVersion };
}

async function threadByMark({ attemptId, mode }: RunOrder, { codexHome, since }: Run) {
  const none = { threadId: null, notes: [] as string[] };
  if (mode !== 'start') return none;
  const marked = await findMarkedThread(codexHome, attemptId, since);
  switch (marked.kind) {
    case 'found':
      return { threadId: marked.threadId, notes: [`thread ${marked.threadId} was found by the mark of the attempt`] };
    case 'without_prompt':
      return {
        ...none,
        notes: [`thread ${marked.threadId} ended before it took the prompt; the next run begins anew`],
      };
    case 'empty':
      return {
        ...none,
        notes: [`empty rollouts of that time cannot be resumed: ${marked.threadIds.join(', ')}`],
      };
    case 'absent':
      return none;
  }
}
