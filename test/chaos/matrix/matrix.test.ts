import { existsSync } from 'node:fs';
import { processesOn } from '../../../scripts/stage/processes';
import { judge } from './judgement';
import { runMatrix, type MatrixOutcome } from './matrix';
import { POINTS } from './points';
import { byPoint, lines } from './table';
import { openWorkshop } from './workshop';

/** Enough for every point once with the stub, for some of the real Codex, and for some moments of chance. */
const KILLS = 24;

describe('SIGKILL at every point of an attempt', () => {
  const workshop = openWorkshop();
  let outcome: MatrixOutcome;
  beforeAll(async () => {
    outcome = await runMatrix(workshop.folder, {
      kills: KILLS,
      seed: Number(process.env.PERDURE_SEED ?? 1),
      lanes: { stub: 2, codex: 1 },
      note: () => undefined,
    });
    // Measured, not asserted.
    process.stderr.write(`${lines(byPoint(outcome.results), 'point').join('\n')}\n`);
  }, 900_000);
  afterAll(() => workshop.close());

  it('leaves no second start, no lost and no stuck task, with the stub and with the real Codex (GU-1, DF-6, DF-7, RC-4, DS4)', () => {
    const faults = outcome.results.flatMap(({ point, target, provider, seen }) =>
      judge(seen).map((fault) => ({ at: `${point?.name ?? 'random'}/${target} (${provider})`, ...fault })),
    );
    expect(faults).toEqual([]);
  });

  it('is tried at each of them, and something was killed (section 4.4, rows 1 to 9)', () => {
    const hit = byPoint(outcome.results).filter(({ provider, kills }) => provider === 'stub' && kills > 0);
    expect(hit.map(({ name }) => name)).toEqual([...POINTS.map(({ name }) => name), 'random']);
    expect(outcome.results.filter(({ provider }) => provider === 'codex').length).toBeGreaterThan(0);
  });

  it('leaves histories that replay', () => {
    expect(Object.keys(outcome.replayed)).toEqual(expect.arrayContaining(['dispatchTask', 'task']));
  });

  it('leaves no process and no file behind', async () => {
    await workshop.close();
    expect(processesOn(workshop.folder)).toEqual([]);
    expect(existsSync(workshop.folder)).toBe(false);
  });
});
