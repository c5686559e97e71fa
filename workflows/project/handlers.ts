import { setHandler } from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import type { z } from 'zod';
import { invalidArgument } from '../../contract/failures';
import {
  limitSchema,
  pauseSchema,
  pauseUpdate,
  projectQuery,
  queuedTaskSchema,
  resumeUpdate,
  roomQuery,
  runSettledSignal,
  setLimitUpdate,
  taskDispatchedSignal,
  withdrawSchema,
  withdrawUpdate,
  type Project,
} from '../../contract/project';
import { workersUpgradedSignal } from '../../contract/run';
import { refuse } from '../task-record/refusal';
import type { ProjectQueue } from './project-queue';
import { roomOf, withdraw } from './queue';

/** Registers what a project's queue answers. All its updates set something, so repeating one has no second effect. */
export function registerProjectHandlers(queue: ProjectQueue): void {
  setHandler(projectQuery, () => queue.project);
  setHandler(roomQuery, () => roomOf(queue.project));
  setHandler(workersUpgradedSignal, () => {
    queue.rollOver();
  });
  setHandler(taskDispatchedSignal, (given) => {
    const task = queuedTaskSchema.safeParse(given);
    if (task.success) queue.add(task.data);
  });
  setHandler(runSettledSignal, ({ attemptId }) => {
    queue.free(attemptId);
  });
  const withdrawing = (input: z.input<typeof withdrawSchema>) => {
    const { taskId } = withdrawSchema.parse(input);
    const withdrawn = queue.project.queue.some((task) => task.taskId === taskId);
    if (withdrawn) queue.change((project) => withdraw(project, taskId));
    return { withdrawn };
  };
  setHandler(withdrawUpdate, withdrawing, { validator: validatorOf(withdrawSchema) });
  setting(queue, setLimitUpdate, { schema: limitSchema, of: ({ limit }) => ({ limit }) });
  setting(queue, pauseUpdate, { schema: pauseSchema, of: () => ({ isPaused: true }) });
  setting(queue, resumeUpdate, { schema: pauseSchema, of: () => ({ isPaused: false }) });
}

interface Setting<S extends z.ZodType> {
  readonly schema: S;
  of(input: z.output<S>): Partial<Project>;
}

function setting<S extends z.ZodType>(
  queue: ProjectQueue,
  definition: UpdateDefinition<Project, [z.input<S>]>,
  { schema, of }: Setting<S>,
): void {
  const handler = (input: z.input<S>): Project => {
    queue.settings = { ...queue.settings, ...of(schema.parse(input)) };
    queue.change((project) => ({ ...project, ...queue.settings }));
    return queue.project;
  };
  setHandler(definition, handler, { validator: validatorOf(schema) });
}

const validatorOf = (schema: z.ZodType) => (input: unknown) => {
  const parsed = schema.safeParse(input);
  if (!parsed.success) refuse(invalidArgument(parsed.error));
};
