import { setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import { failure, type Failure } from '../../contract/failures';
import { incidentsQuery } from '../../contract/incident';
import * as run from '../../contract/run';
import * as task from '../../contract/task';
import { addActivity, updateTask } from './commands';
import { decide } from './decisions';
import { acceptReopen, notDispatchable, type Dispatch } from './dispatching';
import { now, type TaskRecord } from './record';
import { checkRelations } from './relations';
import { refuse } from './refusal';
import { setStatus } from './status-change';
import { requestStop } from './stopping';
import { isRefusal } from './transitions';
import { command, update } from './update-handler';
import { isSettling, whyOf } from './view';

/** How a phase takes a dispatch. */
export interface DispatchRule {
  check(dispatch: Dispatch): Failure | null;
  accept(dispatch: Dispatch): Promise<run.DispatchAnswer>;
}

/** Registers what every phase answers: all queries, and all updates; without a rule of its own a phase refuses dispatch. */
export function registerHandlers(record: TaskRecord, dispatchRule = refuseDispatch(record)): void {
  setHandler(task.taskQuery, () => record.carried.task);
  setHandler(task.whyQuery, () => whyOf(record.carried, record.phase));
  setHandler(run.attemptsQuery, () => record.carried.attempts);
  setHandler(incidentsQuery, () => record.carried.incidents);

  setHandler(run.workersUpgradedSignal, () => {
    record.rollOver();
  });

  update(record, task.updateUpdate, { schema: task.taskUpdateSchema, ...updateRule(record) });
  command(record, task.addActivityUpdate, { schema: task.noteSchema, perform: addActivity });
  command(record, task.setStatusUpdate, { schema: task.statusChangeSchema, perform: setStatus });
  command(record, run.decideUpdate, { schema: run.decideSchema, perform: decide });
  command(record, run.reopenUpdate, { schema: run.reopenSchema, perform: acceptReopen });
  command(record, run.stopUpdate, { schema: run.stopSchema, perform: requestStop });
  update(record, run.dispatchUpdate, { schema: run.dispatchSchema, ...dispatchRule });
}

/** An update of relations looks at the other tasks before it counts (PD10); any other one is a pure command. */
function updateRule(record: TaskRecord) {
  type Update = z.output<typeof task.taskUpdateSchema>;
  return {
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

/** A phase that already executes the task takes no dispatch (DS4, DS15). */
function refuseDispatch(record: TaskRecord): DispatchRule {
  const refusal = () => {
    const { task, attempts } = record.carried;
    if (!isSettling(attempts.at(-1))) return notDispatchable(task);
    const error = 'the result of the last run is being recorded';
    return failure('TASK_NOT_DISPATCHABLE', error, {
      hint: 'Try again in a moment.',
      retryable: true,
      taskId: task.id,
    });
  };
  return { check: refusal, accept: () => refuse(refusal()) };
}
