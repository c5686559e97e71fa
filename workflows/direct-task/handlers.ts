import { setHandler } from '@temporalio/workflow';
import type { z } from 'zod';
import {
  decideDirectSchema,
  decideDirectUpdate,
  directQuery,
  stopDirectSchema,
  stopDirectUpdate,
  type DirectAnswer,
  type DirectTask,
} from '../../contract/direct';
import { failure, invalidArgument } from '../../contract/failures';
import { RUN_ACTOR, workersUpgradedSignal } from '../../contract/run';
import { now } from '../task-record/record';
import { refuse } from '../task-record/refusal';
import type { DirectRecord } from './direct-record';
import { decide, isDecidable, requestStop } from './state';

/** Registers what a direct task answers. Both updates set something, so repeating one has no second effect. */
export function registerDirectHandlers(direct: DirectRecord): void {
  setHandler(directQuery, () => direct.task);
  setHandler(workersUpgradedSignal, () => {
    direct.rollOver();
  });
  setHandler(
    stopDirectUpdate,
    (input) => {
      const { actor, reason = '' } = stopDirectSchema.parse(input);
      return answered(direct, (task) => requestStop(task, { actor, reason, cause: 'user' }, now()));
    },
    {
      validator: (input) => {
        parsed(stopDirectSchema, input);
      },
    },
  );
  setHandler(
    decideDirectUpdate,
    (input) => {
      const { actor, decision, note = null } = decideDirectSchema.parse(input);
      return answered(direct, (task) => decide(task, { decision, actor, note }, now()));
    },
    {
      validator: (input) => {
        parsed(decideDirectSchema, input);
        const { actor } = decideDirectSchema.parse(input);
        if (actor.startsWith(RUN_ACTOR))
          refuse(failure('HUMAN_REQUIRED', 'no run judges what became of a direct task'));
        if (!isDecidable(direct.task)) refuse(failure('NOTHING_TO_DECIDE', `it is ${direct.task.status}`));
      },
    },
  );
}

function answered(direct: DirectRecord, change: (task: DirectTask) => DirectTask): DirectAnswer {
  const before = direct.task;
  direct.countUpdate();
  direct.change(change);
  const { id: taskId, status } = direct.task;
  return { success: true, taskId, status, changed: direct.task !== before };
}

function parsed(schema: z.ZodType, input: unknown): void {
  const result = schema.safeParse(input);
  if (!result.success) refuse(invalidArgument(result.error));
}
