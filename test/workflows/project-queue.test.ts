import { projectSchema, QUEUE_LENGTH, type Project, type QueuedTask } from '../../contract/project';
import { endStart, nextOf, roomOf, take } from '../../workflows/project/queue';

const STARTS = 20;

const projectWith = (tasks: number, limit = 1_000): Project =>
  projectSchema.parse({
    ...{ tenantId: 'default', id: 'P', limit },
    queue: Array.from({ length: tasks }, (_, index) => ({
      ...{ taskId: `T-${String(index)}`, priority: 'medium', createdAt: '2026-01-01T00:00:00.000Z' },
      order: { agentId: 'general-purpose', actor: 'ada' },
    })),
  });

/** Takes tasks until no more may begin. */
function takeAll(given: Project): Project {
  let project = given;
  const next = (): QueuedTask | undefined => nextOf(project, STARTS);
  for (let task = next(); task !== undefined; task = next()) {
    project = take(project, { ...task, requestId: `R-${String(project.serial)}` });
  }
  return project;
}

describe("a project's queue", () => {
  it('asks for so many starts at once, however many may run, and for the next when one is answered (P84)', () => {
    const begun = takeAll(projectWith(50));
    expect(begun.starting.map(({ taskId }) => taskId)).toEqual(
      Array.from({ length: STARTS }, (_, n) => `T-${String(n)}`),
    );
    const [first] = begun.starting;
    const answered = endStart(begun, first?.taskId ?? '', null);
    expect(takeAll(answered).starting.at(-1)?.taskId).toBe('T-20');
  });

  it('asks for no more than its limit allows (MA8)', () => {
    expect(takeAll(projectWith(50, 3)).starting).toHaveLength(3);
  });

  it('says when it has no more room', () => {
    expect(roomOf(projectWith(3))).toEqual({ isFull: false, length: 3 });
    expect(roomOf(projectWith(QUEUE_LENGTH)).isFull).toBe(true);
  });
});
