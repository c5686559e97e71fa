import { budgetReason, type BudgetReason } from '../contract/delivery';
import { failure, FAILURES, type Failure } from '../contract/failures';
import { carriedQuery, type Attempt } from '../contract/run';
import { continueWith } from '../contract/shell';
import { whyQuery, type Task } from '../contract/task';
import { askWorker } from './record';
import { taskHandle, type Session } from './session';

/** What a delivery asks a person for when no budget is used up. */
const QUESTIONS = new Set(['blocked', 'action_proposed', 'criteria_unknown', 'review_inconclusive']);

/** Why a delivery rests: the budget that is used up, or that it asks a person; null where it does not, as after a stop. */
export function reasonOfRest({ status, activities }: Task): BudgetReason | 'input_required' | null {
  if (status !== 'interrupted') return null;
  const reason = activities.findLast(({ detail }) => detail.to === 'interrupted')?.detail.reason;
  const budget = budgetReason.safeParse(reason);
  if (budget.success) return budget.data;
  return typeof reason === 'string' && QUESTIONS.has(reason) ? 'input_required' : null;
}

/** A delivery that rests although it is not done, in the words of `why`; null for every other end of an attempt. */
export async function refusalOfRest(
  session: Session,
  task: Task | undefined,
  { purpose }: Attempt,
): Promise<Failure | null> {
  const code = task === undefined || purpose === undefined ? null : reasonOfRest(task);
  if (task === undefined || code === null) return null;
  const handle = await taskHandle(session, task.id);
  const sentence = await askWorker(session, () => handle.query(whyQuery)).then(
    (why) => why.sentence,
    // The record itself says it, only shorter.
    () => task.activities.findLast(({ detail }) => detail.to === 'interrupted')?.summary ?? FAILURES[code].hint,
  );
  return restFailure(task.id, code, sentence);
}

/** The failure that stands for a delivery that rests. */
export function restFailure(taskId: string, code: BudgetReason | 'input_required', sentence: string): Failure {
  const hint = `It goes on in the same thread with \`${continueWith(taskId, code)}\`.`;
  return failure(code, sentence, { hint, retryable: false });
}

/** Makes the hint of a refused request as exact as a delivery that rests allows: the command, its id, what is used up. */
export async function aboutDelivery(session: Session, taskId: string, known: Failure): Promise<Failure> {
  if (known.code === 'budget_exhausted') {
    return { ...known, hint: `Give it more with \`${continueWith(taskId, budgetIn(known.error))}\`.` };
  }
  if (known.code !== 'NOTHING_TO_DECIDE' || known.hint !== FAILURES.NOTHING_TO_DECIDE.hint) return known;
  const handle = await taskHandle(session, taskId);
  const carried = await askWorker(session, () => handle.query(carriedQuery)).catch(() => undefined);
  if (carried === undefined || carried.delivery === null || carried.intent !== null) return known;
  if (carried.task.status !== 'interrupted') return known;
  const what = reasonOfRest(carried.task) ?? 'input_required';
  return { ...known, hint: `Its delivery waits: \`${continueWith(taskId, what)}\`.` };
}

/** The budget that a refusal says is used up, by the unit that it counts in. */
function budgetIn(error: string): BudgetReason {
  if (error.endsWith(' tokens')) return 'token_budget';
  return error.endsWith(' of run time') ? 'time_budget' : 'attempt_budget';
}
