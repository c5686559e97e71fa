import { createTask, listTasks, showTask, type Session } from '../../client/index';
import { valueOf } from '../../client/outcome';
import { ensureSearchAttributes } from '../../workers/search-attributes';
import { connectWorker } from '../../workers/connection';
import { until } from '../helpers/dev-server';
import { LocalHome } from '../helpers/local-home';
import { Stage } from '../helpers/stage';
import { taskWorkflowId } from '../../contract/names';

const EMOJI = '🦊'.repeat(3_000);
const NAMES = [
  '日本',
  '中国',
  '🙂',
  '🙃',
  'é',
  'e\u0301',
  'tool',
  'Tool',
  'CON',
  'a.',
  '.git',
  'x'.repeat(128),
  'a\u202eb',
  "it's",
];

let stage: Stage;
let home: LocalHome;
let session: Session;
beforeAll(async () => {
  stage = await Stage.open();
  home = await LocalHome.make();
  session = await home.session(stage.server.address);
});
afterAll(async () => {
  await home.remove();
  await stage.close();
});

describe('names of tasks', () => {
  it('that are taken stay apart, and create, show and list agree on them (P94)', async () => {
    for (const id of NAMES) valueOf(await createTask(session, { id, title: id }));
    for (const id of NAMES) expect(valueOf(await showTask(session, id)).task).toMatchObject({ id, title: id });
    await until(async () => valueOf(await listTasks(session)).tasks.length === NAMES.length);
    const { tasks } = valueOf(await listTasks(session));
    expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set(NAMES));
  });

  it.each(['x'.repeat(129), 'a ', '-rf', '..', 'a/b', ''])(
    'such as %j are refused by create and show alike (P94)',
    async (id) => {
      expect(await createTask(session, { id, title: 'x' })).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(await showTask(session, id)).toMatchObject({ code: 'INVALID_ARGUMENT' });
    },
  );
});

describe('search attributes', () => {
  it('never fail a task, however long its texts are (P77)', async () => {
    expect(await createTask(session, { id: 'A-1', title: EMOJI })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    const id = '🦊'.repeat(128);
    const draft = { id, title: EMOJI.slice(0, 2_000), metadata: { projectId: EMOJI.slice(0, 4_000) } };
    expect(await createTask(session, draft)).toMatchObject({ success: true });
    const task = stage.client.workflow.getHandle(taskWorkflowId({ tenantId: 'default', taskId: id }));
    const handle = await stage.create({ parentId: id, metadata: { projectId: `x${EMOJI.slice(0, 4_000)}` } });
    await handle.query('why');
    expect((await task.describe()).status.name).toBe('RUNNING');
    const { events } = await handle.fetchHistory();
    expect(events?.some((event) => event.workflowTaskFailedEventAttributes)).toBe(false);
    expect((await task.describe()).memo?.['title']).toBe('🦊'.repeat(200));
  });

  it('that a namespace has no room for are named before any worker takes a task (P77)', async () => {
    const namespace = 'crowded';
    const { connection } = stage.client;
    const workflowExecutionRetentionPeriod = { seconds: 86_400 as never };
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod });
    const plan = {
      address: stage.server.address,
      namespace,
      tls: undefined,
      apiKey: undefined,
      metadata: {},
      source: 'environment' as const,
    };
    const worker = await connectWorker(plan);
    try {
      const names = Array.from({ length: 6 }, (_, serial) => [`Other${serial}`, 2] as const);
      await worker.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(names) });
      await expect(ensureSearchAttributes(worker, namespace)).rejects.toMatchObject({
        failure: {
          code: 'TEMPORAL_REFUSED',
          error: expect.stringContaining('PerdureStatus'),
          hint: expect.stringContaining('search-attribute create'),
        },
      });
    } finally {
      await worker.close();
    }
  });
});
