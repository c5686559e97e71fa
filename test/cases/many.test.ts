import { temporal } from '@temporalio/proto';
import { limitProject, noteTask, pauseProject, resumeProject } from '../../client/index';
import { projectWorkflowId } from '../../contract/names';
import { carriedQuery } from '../../contract/run';
import { until } from '../helpers/dev-server';
import { idOf, Stage } from '../helpers/stage';

/** The numbers of the case are the long form, `PERDURE_MANY=1`; CI takes a twentieth of them. */
const SHARE = Number(process.env.PERDURE_MANY ?? 0.05);
const TASKS = Math.ceil(2_600 * SHARE);
const NOTES = Math.ceil(11_000 * SHARE);
/** What a project may run at once at most. */
const HIGHEST_LIMIT = 1_000;
/** Workflows that stay in memory; without a bound they would take gigabytes. */
const CACHED = 250;
/** A server takes ten updates of one workflow at once. */
const AT_ONCE = 9;
const PATIENCE_MS = 900_000;

const { WorkflowTaskFailedCause } = temporal.api.enums.v1;

describe('a great many, on a server with its own limits (P84)', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ isEmpty: true });
    await stage.startWorkers({ maxCachedWorkflows: CACHED });
  });
  afterAll(() => stage.close());

  /** Calls `work` so many times, a few at once. */
  async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<void> {
    let next = 0;
    const some = async () => {
      while (next < times) await work((next += 1));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, some));
  }

  /** Workflow tasks of a chain that failed; one that met a new event is only begun again. */
  async function failedTasks(workflowId: string): Promise<string[]> {
    const failed: string[] = [];
    for await (const { runId } of stage.client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) {
      const { events } = await stage.client.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const { workflowTaskFailedEventAttributes: attributes } of events ?? []) {
        const cause = attributes?.cause ?? WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
        if (cause === WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND) continue;
        failed.push(`${WorkflowTaskFailedCause[cause]}: ${attributes?.failure?.message ?? ''}`);
      }
    }
    return failed;
  }

  it(
    'ready tasks of a project that may run as many as it can all run, each once',
    async () => {
      const projectId = 'P-many';
      await limitProject(stage.session, projectId, HIGHEST_LIMIT);
      await pauseProject(stage.session, projectId);
      await repeat(TASKS, async () => stage.ask(await stage.create({ metadata: { projectId } })));
      await resumeProject(stage.session, projectId);
      await until(() => stage.host.orders.length >= TASKS);
      const completed = `PerdureProject = '${projectId}' AND PerdureStatus = 'completed' AND WorkflowType = 'task'`;
      await until(async () => (await stage.client.workflow.count(completed)).count >= TASKS);
      const attempts = stage.host.orders.map(({ attemptId }) => attemptId);
      expect([attempts.length, new Set(attempts).size]).toEqual([TASKS, TASKS]);
      expect(await failedTasks(projectWorkflowId({ tenantId: 'default', projectId }))).toEqual([]);
    },
    PATIENCE_MS,
  );

  it(
    'notes of one task are all in its record',
    async () => {
      const task = await stage.create();
      await repeat(NOTES, async (index) => {
        const noted = await noteTask(stage.session, idOf(task), { summary: `note ${String(index)}` });
        if (!noted.success) throw new Error(noted.error);
      });
      const { task: record, archived } = await task.query(carriedQuery);
      expect(archived.activities + record.activities.length).toBe(1 + NOTES);
      expect(await failedTasks(task.workflowId)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
