import { z } from 'zod';
import { ATTENTIONS } from '../../contract/attention';
import { attemptsQuery } from '../../contract/run';
import { Cast } from '../helpers/cast';
import { LocalHome } from '../helpers/local-home';
import { about, asPlain, operatorQuestions, OperatorShell, type OperatorQuestion } from '../helpers/operator-shell';
import { Stage } from '../helpers/stage';
import { until } from '../helpers/until';

const oursSchema = z.object({ query: z.string(), tasks: z.array(z.object({ id: z.string() })) });
const whySchema = z.looseObject({ sentence: z.string(), facts: z.array(z.string()) });

let stage: Stage;
let home: LocalHome;
let cast: Cast;
let shell: OperatorShell;

beforeAll(async () => {
  stage = await Stage.open();
  home = await LocalHome.make();
  cast = new Cast(stage);
  shell = new OperatorShell(stage.server.address, home, { PERDURE_CODEX_BIN: process.execPath });
  const states = ['pending', 'running', 'resumed', 'recovery', 'failed', 'outcome', 'review', 'completed'] as const;
  await Promise.all(states.map((state) => cast.make(`T-${state}`, state)));
  await shell.json('perdure task create --title "A part" --id T-part --parent T-pending --depends-on T-failed');
});
afterAll(async () => {
  await home.remove();
  await stage.close();
});

const STATES = [
  'T-pending',
  'T-running',
  'T-resumed',
  'T-recovery',
  'T-failed',
  'T-outcome',
  'T-review',
  'T-completed',
];

const FEW = ['T-pending', 'T-resumed', 'T-recovery', 'T-completed'];
const forEach = (tasks: string[], work: (taskId: string) => Promise<void>) => Promise.all(tasks.map(work));

const idsOf = (tasks: { id: string }[]) => tasks.map(({ id }) => id).sort();
/** Asserts that a plain list and ours hold the same tasks, a certain one among them; lists lag a moment behind. */
async function expectSameList(plain: string, ours: string, certain: string): Promise<void> {
  const listed = await until(async () => {
    const ids = await shell.running(plain);
    return ids.includes(certain) ? ids : undefined;
  });
  const { tasks, query } = oursSchema.parse(await shell.json(ours));
  expect(listed).toEqual(idsOf(tasks));
  expect(await shell.running(`temporal workflow list --query "${query}"`)).toEqual(listed);
}

/** Puts our command to one task and each plain one to another in the same state; all must leave the same behind. */
async function expectSameEffect({ ours, plain }: OperatorQuestion, make: (taskId: string) => Promise<unknown>) {
  const [name] = /(?<=--name )\w+/.exec(plain[0] ?? '') ?? ['none'];
  const effects: object[] = [];
  for (const [at, command] of [ours[0], ...plain].entries()) {
    const taskId = `E-${name}-${String(at)}`;
    await make(taskId);
    const before = await cast.state(taskId);
    await shell.json(about(command, taskId));
    await cast.rest(taskId);
    effects.push(await cast.state(taskId));
    expect(effects.at(-1)).not.toEqual(before);
  }
  for (const other of effects.slice(1)) expect(other).toEqual(effects[0]);
}

const CHECKS: Record<string, (row: OperatorQuestion) => Promise<void>> = {
  async 'what runs?'({ ours: [ours = ''], plain: [plain = ''] }) {
    await expectSameList(plain, ours, 'T-running');
  },
  async 'what needs somebody?'({ ours: [ours = ''], plain: [plain = ''] }) {
    for (const word of ATTENTIONS.filter((each) => STATES.includes(`T-${each}`))) {
      await expectSameList(plain.replace('recovery', word), ours.replace('recovery', word), `T-${word}`);
    }
  },
  async 'how many failed?'({ ours: [ours = ''], plain: [plain = ''] }) {
    const { tasks } = oursSchema.parse(await shell.json(ours));
    const { count } = z.object({ count: z.coerce.number() }).parse(await shell.json(plain));
    expect(idsOf(tasks)).toEqual(['T-failed']);
    expect(count).toBe(1);
  },
  async 'what does T-1 do, and what would move it on?'({ ours: [ours], plain: [plain] }) {
    await forEach(STATES, async (taskId) => {
      const { facts, ...said } = whySchema.parse(await shell.ask(about(plain, taskId)));
      const explained = whySchema.parse(await shell.json(about(ours, taskId)));
      expect(explained).toMatchObject(said);
      expect(explained.facts).toEqual(expect.arrayContaining(facts));
    });
  },
  async 'its state in one line'({ ours: [ours], plain: [plain] }) {
    await forEach(FEW, async (taskId) => {
      const { currentDetails } = z
        .looseObject({ currentDetails: z.string() })
        .parse(await shell.ask(about(plain, taskId)));
      expect(currentDetails).toBe(whySchema.parse(await shell.json(about(ours, taskId))).sentence);
    });
  },
  async 'the whole record'({ ours: [ours], plain: [plain] }) {
    await forEach(FEW, async (taskId) => {
      const { task } = z.looseObject({ task: z.unknown() }).parse(await shell.json(about(ours, taskId)));
      expect(await shell.ask(about(plain, taskId))).toEqual(asPlain(task));
    });
  },
  async 'what was started, how often, how did it end?'({ ours: [ours], plain: [plain] }) {
    await forEach(FEW, async (taskId) => {
      const audit = z.looseObject({ attempts: z.array(z.unknown()) }).parse(await shell.json(about(ours, taskId)));
      const attempts = await shell.ask(about(plain, taskId));
      expect({ attempts }).toMatchObject({ attempts: asPlain(audit.attempts) });
    });
  },
  async 'what of it has to be decided?'({ ours: [ours], plain: [plain] }) {
    const [incident] = z
      .tuple([z.object({ id: z.string(), code: z.string(), at: z.string(), decidedAt: z.null() })])
      .parse(await shell.ask(about(plain, 'T-recovery')));
    const listed = await shell.json(about(ours, 'T-recovery'));
    expect(listed).toMatchObject({ incidents: [incident] });
    expect(await shell.ask(about(plain, 'T-failed'))).toBeNull();
  },
  'stop it': (row) => expectSameEffect(row, (taskId) => cast.make(taskId, 'running')),
  'go on: resumes, retries, or reopens what is finished': (row) =>
    expectSameEffect(row, (taskId) => cast.make(taskId, 'failed')),
  'the executor died: accept or give up': (row) => expectSameEffect(row, (taskId) => cast.make(taskId, 'recovery')),
  'record its outcome': (row) => expectSameEffect(row, (taskId) => cast.make(taskId, 'outcome')),
  'leave a note': (row) => expectSameEffect(row, (taskId) => cast.make(taskId, 'completed')),
  'change what it says': (row) => expectSameEffect(row, (taskId) => cast.make(taskId, 'pending')),
  async 'who drives this Codex thread?'({ ours: [ours = ''], plain: [describe = '', bound = ''] }) {
    const thread = (await stage.lastAttempt(cast.handle('T-resumed'))).threadId ?? '';
    const of = (command: string) => command.replaceAll('<thread id>', thread);
    expect(await shell.json(of(describe))).toMatchObject({
      workflowExecutionInfo: {
        status: 'WORKFLOW_EXECUTION_STATUS_RUNNING',
        parentExecution: { workflowId: 'task/default/T-resumed' },
      },
    });
    await expectSameList(of(bound), of(ours), 'T-resumed');
  },
  async 'the parts of a task, and what blocks one'({ ours: [tree, why], plain: [parts] }) {
    const children = await until(async () => {
      const ids = await shell.running(about(parts, 'T-pending'));
      return ids.length > 0 ? ids : undefined;
    });
    expect(await shell.json(about(tree, 'T-pending'))).toMatchObject({ tree: { children: [{ id: 'T-part' }] } });
    expect(children).toEqual(['T-part']);
    const { facts } = whySchema.parse(await shell.json(about(why, 'T-part')));
    expect(facts).toContain('blocked by T-failed, which is failed');
  },
  async 'all phases so far'({ plain: [plain] }) {
    const phases = z
      .array(z.object({ type: z.object({ name: z.string() }) }))
      .parse(await shell.json(about(plain, 'T-failed')));
    expect(phases.map(({ type }) => type.name).sort()).toEqual(['dispatchTask', 'task', 'task']);
    expect(await cast.handle('T-failed').query(attemptsQuery)).toHaveLength(1);
  },
  async 'every event of a phase'({ plain: [plain = ''] }) {
    const { runId } = await cast.handle('T-failed').describe();
    const history = await shell.json(about(plain, 'T-failed').replace('<run id>', runId));
    expect(history).toMatchObject({ events: [{ eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED' }, {}, {}, {}] });
  },
};

const questions = operatorQuestions().filter(({ plain }) => plain.length > 0);

describe("the README's table of what operators ask", () => {
  it('has a check for every question that a plain command answers', () => {
    expect(questions.map(({ question }) => question).sort()).toEqual(Object.keys(CHECKS).sort());
  });

  it.each(questions)('is answered alike by both command lines: $question', async (row) => {
    await CHECKS[row.question]?.(row);
  });

  it('holds the closed phases back in every list but the one of all phases', () => {
    const lists = questions
      .filter(({ question }) => question !== 'all phases so far')
      .flatMap(({ plain }) => plain.filter((command) => /workflow (list|count)/.test(command)));
    expect(lists.length).toBeGreaterThan(4);
    for (const command of lists) expect(command).toContain("ExecutionStatus = 'Running'");
  });
});

describe('temporal workflow describe', () => {
  it('shows the title of a task at its first phase as the summary, and in the memo of every one', async () => {
    expect(await shell.json('temporal workflow describe -w task/default/T-failed')).toMatchObject({
      workflowExecutionInfo: { memo: { fields: { title: 'Say hello' } } },
    });
    await shell.json('perdure task create --id D-1 --title "Say good-bye"');
    const { stdout } = await shell.run('temporal workflow describe -w task/default/D-1');
    expect(stdout).toMatch(/StaticSummary\s+"Say good-bye"/);
  });
});
