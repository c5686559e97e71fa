import { setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { decideSchema, decideUpdate, type DecideAnswer } from '../../contract/decision';
import { failure, type Failure } from '../../contract/failures';
import { incidentsQuery } from '../../contract/incident';
import { executorQuery, failOrphanSchema, failOrphanUpdate, type JudgedOrphan } from '../../contract/orphan';
import { dependantAddedSignal, dependencyCompletedSignal } from '../../contract/relation';
import * as run from '../../contract/run';
import * as task from '../../contract/task';
import { addActivity, updateTask } from './commands';
import { decide } from './decisions';
import { notDispatchable, type Dispatch, type ReopenRequest } from './dispatching';
import { acceptReopen, refuseReopen } from './reopening';
import { addDependant } from './dependants';
import { suspectOf } from './executor';
import { now, type TaskRecord } from './record';
import { checkRelations } from './relations';
import { refuse } from './refusal';
import { notOrphaned } from './settling';
import { setStatus } from './status-change';
import { requestStop } from './stopping';
import { isRefusal } from './transitions';
import { command, update } from './update-handler';
import { isSettling, whyOf } from './view';

/** How a phase takes a request that it may have to think about. */
interface Rule<I, A> {
  /** Refuses before anything enters history. */
  check(input: I): Failure | null;
  accept(input: I): Promise<A>;
}

/** What only some phases can do. */
export interface PhaseRules {
  readonly dispatch: Rule<Dispatch, run.DispatchAnswer>;
  readonly reopen: Rule<ReopenRequest, { success: true; taskId: string; attemptId?: string }>;
  readonly decide: Rule<z.output<typeof decideSchema>, DecideAnswer>;
  readonly failOrphan: Rule<z.output<typeof failOrphanSchema>, JudgedOrphan>;
}

/** Registers what every phase answers: all queries, and all updates; without rules of its own a phase is busy. */
export function registerHandlers(record: TaskRecord, rules = busyRules(record)): void {
  setHandler(task.taskQuery, () => record.carried.task);
  setHandler(task.whyQuery, () => whyOf(record.carried, record.phase));
  setHandler(run.attemptsQuery, () => record.carried.attempts);
  setHandler(incidentsQuery, () => record.carried.incidents);
  setHandler(run.carriedQuery, () => record.carried);
  setHandler(executorQuery, () => (notOrphaned(record.carried) === null ? suspectOf(record.carried) : null));
  setHandler(run.workersUpgradedSignal, () => {
    record.rollOver();
  });
  setHandler(dependantAddedSignal, (workflowId) => {
    record.conclude((carried) => addDependant(carried, workflowId));
  });
  setHandler(dependencyCompletedSignal, () => {
    record.isReadinessDue = true;
  });

  // What came in before the first workflow task is taken kind by kind: a stop after the dispatch that it is about.
  const { version } = record.carried;
  if (version > 1) update(record, run.dispatchUpdate, { schema: run.dispatchSchema, ...rules.dispatch });
  update(record, task.updateUpdate, { schema: task.taskUpdateSchema, ...updateRule(record) });
  command(record, task.addActivityUpdate, { schema: task.noteSchema, perform: addActivity });
  command(record, task.setStatusUpdate, { schema: task.statusChangeSchema, perform: setStatus });
  update(record, decideUpdate, { schema: decideSchema, ...rules.decide });
  command(record, run.stopUpdate, { schema: run.stopSchema, perform: requestStop });
  update(record, run.reopenUpdate, { schema: run.reopenSchema, ...rules.reopen });
  if (version === 1) update(record, run.dispatchUpdate, { schema: run.dispatchSchema, ...rules.dispatch });
  update(record, failOrphanUpdate, { schema: failOrphanSchema, ...rules.failOrphan });
}

/** An update of relations looks at the other tasks before it counts (PD10); any other one is a pure command. */
function updateRule(record: TaskRecord) {
  type Update = z.output<typeof task.taskUpdateSchema>;
  return {
    explain: (raw: unknown) => statusInUpdate(record.carried.task.id, raw),
    check(input: Update): Failure | null {
      const step = updateTask(record.carried, input, now());
      return isRefusal(step) ? step : null;
    },
    async accept(input: Update): Promise<task.TaskAnswer> {
      if (input.parentId !== undefined || input.dependencies !== undefined) await checkRelations(record, input);
      return record.perform((carried) => updateTask(carried, input, now()));
    },
  };
}

/** A status is no content field: an update that holds one is refused as a whole (TS11, MT9). */
function statusInUpdate(taskId: string, raw: unknown): Failure | null {
  if (typeof raw !== 'object' || raw === null || !('status' in raw)) return null;
  return failure('STATUS_NOT_UPDATABLE', 'an update changes content fields and never the status', { taskId });
}

/** A phase that executes the task takes no dispatch, and there is nothing to reopen or to judge (DS4, DS15). */
function busyRules(record: TaskRecord): PhaseRules {
  const always = <A>(refusal: () => Failure): Rule<unknown, A> => ({
    check: refusal,
    accept: () => refuse(refusal()),
  });
  return {
    dispatch: always(() => busy(record.carried)),
    reopen: {
      check: (reopen) => refuseReopen(record.carried, reopen),
      accept: (reopen) => Promise.resolve(record.perform((carried) => acceptReopen(carried, reopen))),
    },
    decide: plainDecisions(record),
    failOrphan: always(() => notOrphaned(record.carried) ?? busy(record.carried)),
  };
}

/** Decisions that change the record and begin nothing. */
export function plainDecisions(record: TaskRecord): PhaseRules['decide'] {
  return {
    check(input) {
      const step = decide(record.carried, input, now());
      return isRefusal(step) ? step : null;
    },
    accept: (input) => Promise.resolve(record.perform((carried) => decide(carried, input, now()))),
  };
}

function busy({ task, attempts }: run.Carried): Failure {
  if (!isSettling(attempts.at(-1))) return notDispatchable(task);
  const error = 'the result of the last run is being recorded';
  return failure('TASK_NOT_DISPATCHABLE', error, { hint: 'Try again in a moment.', retryable: true, taskId: task.id });
}
