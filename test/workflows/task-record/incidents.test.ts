import type { RunReport } from '../../../contract/activities';
import { carriedSchema, type Carried } from '../../../contract/run';
import { decideSchema } from '../../../contract/decision';
import { decide } from '../../../workflows/task-record/decisions';
import { addIncident, saveSnapshot } from '../../../workflows/task-record/incidents';
import { failOrphaned, settle } from '../../../workflows/task-record/settling';
import { goodReport } from '../../helpers/fake-host';
import { AT, carriedWith, dispatch, taken } from './steps';

const running = () => taken(dispatch(carriedWith())).carried;
const ended = (carried: Carried, change: Partial<RunReport>) => {
  const attempt = carried.attempts.at(-1);
  if (attempt === undefined) throw new Error('there is no attempt');
  return settle(carried, goodReport(attempt, change), AT);
};
const LOST = { outcome: 'interrupted_owner', code: 'interrupted_owner', exit: null, isProbed: true } as const;
const lost = (change: Partial<RunReport> = {}) => ended(running(), { ...LOST, ...change });
const stagesOf = ({ incidents }: Carried) => incidents.map(({ stages }) => stages.map(({ stage }) => stage));
const decided = (carried: Carried, decision: string) =>
  taken(decide(carried, decideSchema.parse({ decision, actor: 'ada' }), AT)).carried;
const SNAPSHOT = {
  ...{ at: AT, lastMessage: 'half of it', events: [], openTools: 1, changes: [], diff: 'x'.repeat(9_000) },
  ...{ diffBytes: 9_000, directory: '/runs/1', workspacePath: null },
};

describe('an incident goes through stages (RC-13)', () => {
  it('of which each has the attempt that it is of', () => {
    const first = lost();
    const saved = { ...first, incidents: saveSnapshot(first.incidents, first.incidents[0], SNAPSHOT) };
    const failed = failOrphaned(saved, ['gone'], { at: AT, actor: 'ada' });
    const again = taken(dispatch(failed)).carried;
    const [{ stages } = { stages: [] }] = ended(again, {}).incidents;
    const [before, after] = again.attempts.map(({ attemptId }) => attemptId);
    expect(stages).toEqual([
      { stage: 'interrupted', at: AT, attemptId: before },
      { stage: 'probed', at: AT, attemptId: before },
      { stage: 'evidence_saved', at: AT, attemptId: before },
      { stage: 'decided', at: AT, attemptId: before },
      { stage: 'resumed', at: AT, attemptId: after },
      { stage: 'closed', at: AT, attemptId: after },
    ]);
  });

  it.each(['accept', 'abandon', 'stop'])('and is over with a decision that nothing follows: %s', (decision) => {
    const over = decided(lost(), decision);
    expect(stagesOf(over)).toEqual([['interrupted', 'probed', 'decided', 'closed']]);
    const next = taken(dispatch({ ...over, task: { ...over.task, status: 'failed' } })).carried;
    expect(stagesOf(next)).toEqual(stagesOf(over));
  });

  it('and says nothing of a proof or of evidence that nobody has', () => {
    const unproven = lost({ isProbed: undefined });
    expect(stagesOf(unproven)).toEqual([['interrupted']]);
    expect(stagesOf({ ...unproven, incidents: saveSnapshot(unproven.incidents, unproven.incidents[0], null) })).toEqual(
      [['interrupted']],
    );
    expect(stagesOf(failOrphaned(unproven, ['gone'], { at: AT, actor: 'ada' }))).toEqual([
      ['interrupted', 'probed', 'decided'],
    ]);
  });
});

describe('what happened to an attempt and asks nobody (RC-12)', () => {
  const FAILED = { outcome: 'failed', error: 'it ended' } as const;

  it.each([
    ['silence (BG-11)', 'inactive', 'provider_inactive'],
    ['another thread in mid-run (DF-15)', 'thread_ambiguous', 'provider_identity_changed'],
    ['a provider that did not start', 'spawn_failed', 'spawn_failed'],
  ] as const)('is an incident: %s', (_what, code, incident) => {
    const { incidents, attempts } = carriedSchema.parse(ended(running(), { ...FAILED, code }));
    expect(incidents).toMatchObject([
      { code: incident, subject: attempts.at(-1)?.attemptId, evidence: ['it ended'], decidedAt: AT, decision: 'noted' },
    ]);
  });

  it('is an incident: a total that fell (CX-18)', () => {
    const total = (inputTokens: number) => ({ inputTokens, cachedInputTokens: 0, outputTokens: 10 });
    const first = ended(running(), { ...FAILED, code: 'time_budget', threadId: 't', threadUsage: total(700) });
    const second = { ...FAILED, code: 'time_budget', threadId: 't', threadUsage: total(600) } as const;
    expect(ended(taken(dispatch(first)).carried, second).incidents).toMatchObject([{ code: 'usage_regressed' }]);
    expect(first.incidents).toEqual([]);
  });
});

describe('a record keeps a hundred incidents (RC-11)', () => {
  const many = (count: number) =>
    Array.from({ length: count }).reduce<Carried>(
      (carried, _, index) =>
        addIncident(carried, {
          ...{ code: 'receipt_conflict', at: AT, subject: `s-${String(index)}` },
          evidence: ['x'.repeat(500), 'y'.repeat(500)],
        }),
      running(),
    );

  it('counts the older ones, and keeps the last ones whole', () => {
    const { incidents, droppedIncidents } = carriedSchema.parse(many(130));
    expect([incidents.length, droppedIncidents]).toEqual([100, 30]);
    expect(incidents.at(0)).toMatchObject({ subject: 's-30', evidence: [expect.any(String)] });
    expect(incidents.at(-20)?.evidence.map(({ length }) => length)).toEqual([500, 500]);
    expect(JSON.stringify(incidents).length).toBeLessThan(100_000);
  });

  it('has one of each code and subject', () => {
    const [incident] = many(1).incidents;
    if (incident === undefined) throw new Error('there is no incident');
    expect(addIncident(many(1), { ...incident, evidence: ['again'] }).incidents).toEqual([incident]);
  });
});
