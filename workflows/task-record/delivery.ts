import type { z } from 'zod';
import type { Checkpoint } from '../../contract/checkpoint';
import {
  DEFAULT_BUDGET,
  refuseUnprovable,
  type Budget,
  type BudgetReason,
  type Delivery,
  type Raise,
} from '../../contract/delivery';
import { failure, type Failure } from '../../contract/failures';
import type { Attempt, Carried, Limits, dispatchSchema } from '../../contract/run';

type Dispatch = z.output<typeof dispatchSchema>;

/** Why a delivery may not go on, or null; without progress, a run that goes on is never ended for the lack of it (BG-1 to BG-5). */
export function budgetReason(
  { budget, spent, fruitless }: Pick<Delivery, 'budget' | 'spent' | 'fruitless'>,
  withProgress: boolean,
): BudgetReason | null {
  if (budget.tokens !== null && spent.tokens >= budget.tokens) return 'token_budget';
  // Less than a run may last at least is nothing.
  if (budget.timeMs !== null && budget.timeMs - spent.timeMs < 1_000) return 'time_budget';
  if (spent.attempts >= budget.attempts) return 'attempt_budget';
  return withProgress && fruitless >= budget.progress ? 'progress_budget' : null;
}

/** How much of a budget was used, in words. */
export function spentOf(reason: BudgetReason, { budget, spent, fruitless }: Delivery): string {
  switch (reason) {
    case 'token_budget':
      return `${String(spent.tokens)} of ${String(budget.tokens)} tokens`;
    case 'time_budget':
      return `${seconds(spent.timeMs)} of ${seconds(budget.timeMs ?? 0)} s of run time`;
    case 'attempt_budget':
      return `${String(spent.attempts)} of ${String(budget.attempts)} attempts`;
    case 'progress_budget':
      return `${String(fruitless)} attempts in a row without progress`;
  }
}

const seconds = (ms: number): string => String(Math.round(ms / 1_000));

/** Refuses a dispatch that a task's delivery does not allow, or that asks for one that nothing could prove. */
export function refuseDelivery({ task, delivery }: Carried, { supervise }: Dispatch): Failure | null {
  const about = { taskId: task.id };
  if (delivery === null) return refuseUnprovable(task, supervise);
  const given = Object.entries(supervise?.budget ?? {}) as [keyof Budget, number | undefined][];
  const changed = given.find(([name, value]) => value !== undefined && value !== delivery.budget[name]);
  if (changed !== undefined) {
    return failure('budget_fixed', `the delivery of task ${task.id} has another ${changed[0]} budget`, about);
  }
  const reason = budgetReason(delivery, false);
  if (reason === null) return null;
  return failure('budget_exhausted', `the delivery has used up ${spentOf(reason, delivery)}`, about);
}

/** The delivery that an accepted dispatch goes on with, or begins; null where one attempt was asked for. */
export function enrol({ delivery }: Pick<Carried, 'delivery'>, { supervise }: Dispatch): Delivery | null {
  // Asked for by a person: attempts without progress are counted anew, budgets are not (BG-13, TD-17).
  if (delivery !== null) return { ...delivery, fruitless: 0, misses: 0, pausedBy: null };
  if (supervise === undefined) return null;
  const { tokens = DEFAULT_BUDGET.tokens, timeMs = DEFAULT_BUDGET.timeMs, attempts, progress } = supervise.budget;
  return {
    budget: {
      tokens,
      timeMs,
      attempts: attempts ?? DEFAULT_BUDGET.attempts,
      progress: progress ?? DEFAULT_BUDGET.progress,
    },
    verify: supervise.verify === true,
    spent: { tokens: 0, timeMs: 0, attempts: 0 },
    fruitless: 0,
    misses: 0,
    checkpoint: null,
    findings: [],
    diagnostic: null,
    workspace: null,
    pausedBy: null,
  };
}

/** Lets a delivery use at least so much more than it has used up; what it may use already is never less. */
export function raise(delivery: Delivery, { tokens, timeMs, attempts }: Raise): Delivery {
  const { budget, spent } = delivery;
  const more = (has: number, used: number, given: number | undefined): number =>
    given === undefined ? has : Math.max(has, used + given);
  return {
    ...delivery,
    budget: {
      ...budget,
      tokens: budget.tokens === null ? null : more(budget.tokens, spent.tokens, tokens),
      timeMs: budget.timeMs === null ? null : more(budget.timeMs, spent.timeMs, timeMs),
      attempts: more(budget.attempts, spent.attempts, attempts),
    },
  };
}

/** The limits of the next attempt: its own, within what is left of the delivery's time. */
export function limitsWithin(limits: Limits, delivery: Delivery | null): Limits {
  if (delivery === null || delivery.budget.timeMs === null) return limits;
  return {
    ...limits,
    timeMs: Math.max(1_000, Math.min(limits.timeMs, delivery.budget.timeMs - delivery.spent.timeMs)),
  };
}

/** Counts an attempt that has ended (BG-15, BG-16): its tokens, its run time, itself if a process was started. */
export function account(delivery: Delivery, attempt: Attempt): Delivery {
  const { usage, spawns } = attempt;
  const { spent } = delivery;
  const used = usage === null ? 0 : Math.max(0, usage.inputTokens - usage.cachedInputTokens) + usage.outputTokens;
  return {
    ...delivery,
    spent: {
      tokens: spent.tokens + used,
      timeMs: spent.timeMs + ranMsOf(attempt),
      attempts: spent.attempts + Math.min(spawns, 1),
    },
  };
}

/** How long an attempt ran, as its host counted; else by the clock, where one that was set back makes no time. */
function ranMsOf({ ranMs, startedAt, endedAt }: Attempt): number {
  if (ranMs !== undefined) return ranMs;
  if (startedAt === null || endedAt === null) return 0;
  return Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
}

/** Whether a checkpoint shows progress over the last one: a criterion newly met, less work left, or another workspace (BG-12). */
export function isProgress(delivery: Delivery, report: Checkpoint, workspace: string | null): boolean {
  const before = delivery.checkpoint?.report;
  if (before === undefined) return true;
  const met = (each: Checkpoint) => each.criteria.flatMap(({ id, state }) => (state === 'met' ? [id] : []));
  const known = new Set(met(before));
  return (
    met(report).some((id) => !known.has(id)) ||
    report.remainingWork.length < before.remainingWork.length ||
    (workspace !== null && delivery.workspace !== null && workspace !== delivery.workspace)
  );
}
