import { refuseRelations, type ReadRelations } from '../../contract/relation';

type Graph = Record<string, { parentId?: string; dependencies?: string[] }>;

const reader =
  (graph: Graph): ReadRelations =>
  (taskId) => {
    const found = graph[taskId];
    if (found === undefined) return Promise.resolve(null);
    const { parentId, dependencies = [] } = found;
    return Promise.resolve({ ...(parentId !== undefined && { parentId }), dependencies });
  };

describe('relations of a task', () => {
  const graph: Graph = {
    a: {},
    b: { dependencies: ['a'] },
    c: { dependencies: ['b'], parentId: 'a' },
    d: { parentId: 'c' },
  };
  const refusal = async (task: { id: string; parentId?: string; dependencies?: string[] }) =>
    (await refuseRelations({ dependencies: [], ...task }, reader(graph)))?.code ?? null;

  it.each([
    [{ id: 'x' }, null],
    [{ id: 'x', dependencies: ['a', 'b', 'c'] }, null],
    [{ id: 'x', parentId: 'd' }, null],
    [{ id: 'x', dependencies: ['x'] }, 'DEPENDENCY_CYCLE'],
    [{ id: 'a', dependencies: ['c'] }, 'DEPENDENCY_CYCLE'],
    [{ id: 'a', parentId: 'a' }, 'DEPENDENCY_CYCLE'],
    [{ id: 'a', parentId: 'd' }, 'DEPENDENCY_CYCLE'],
    [{ id: 'x', parentId: 'd', dependencies: ['c'] }, 'DEPENDENCY_CYCLE'],
    [{ id: 'x', dependencies: ['gone'] }, 'INVALID_ARGUMENT'],
    [{ id: 'x', parentId: 'gone' }, 'INVALID_ARGUMENT'],
  ])('%j are judged %s (PD10 (P))', async (task, code) => {
    expect(await refusal(task)).toBe(code);
  });

  it('nest at most 8 deep (PD14 (P))', async () => {
    const chain: Graph = { t0: {} };
    for (let depth = 1; depth <= 9; depth += 1) chain[`t${String(depth)}`] = { parentId: `t${String(depth - 1)}` };
    const below = (parentId: string) => refuseRelations({ id: 'x', parentId, dependencies: [] }, reader(chain));
    expect(await below('t7')).toBeNull();
    expect((await below('t8'))?.code).toBe('INVALID_ARGUMENT');
  });

  it('are looked at in bounded time, also in a wide graph', async () => {
    const wide: Graph = {};
    for (let n = 0; n < 5_000; n += 1) wide[`w${String(n)}`] = { dependencies: [`w${String((n * 7 + 1) % 5_000)}`] };
    expect(await refuseRelations({ id: 'x', dependencies: ['w1', 'w2'] }, reader(wide))).toBeNull();
  });
});
