import { decideSchema, type Decide } from '../../../contract/decision';
import { type Carried } from '../../../contract/run';
import { decide } from '../../../workflows/task-record/decisions';
import { AT, carriedWith, set, taken } from './steps';

const judge = (carried: Carried, decision: Decide) => decide(carried, decideSchema.parse(decision), AT);
const proposed = () =>
  taken(set(carriedWith({ status: 'in_progress', requireReview: true }), { status: 'completed', result: 'a draft' }));

describe('a task that requires review', () => {
  it('waits in review with its proposed result when it is completed, and says so (RV4, RV7 (P), RV11 (P))', () => {
    const { carried, answer } = proposed();
    expect(carried.task).toMatchObject({ status: 'review', result: 'a draft' });
    expect(answer).toMatchObject({ success: true, status: 'review' });
  });

  it('is the only one that does (RV4)', () => {
    const { answer } = taken(set(carriedWith({ status: 'in_progress' }), { status: 'completed', result: 'r' }));
    expect(answer.status).toBe('completed');
  });

  it('is completed by an approval, once (RV7 (P), TS9)', () => {
    const { carried } = taken(judge(proposed().carried, { decision: 'approve', actor: 'user:ada' }));
    expect(carried.task).toMatchObject({ status: 'completed', result: 'a draft' });
    expect(taken(judge(carried, { decision: 'approve' })).carried).toBe(carried);
  });

  it('goes back interrupted with what the reviewer said (RV7 (P), RV10 (P))', () => {
    const { carried } = taken(judge(proposed().carried, { decision: 'send_back', note: 'more colour' }));
    expect(carried.task).toMatchObject({ status: 'interrupted', result: null });
    const last = carried.task.activities.at(-1);
    expect(last).toMatchObject({ summary: 'more colour', detail: { reason: 'review_rejected' } });
  });

  it.each(['approve', 'send_back'] as const)('takes no %s from a run (RV7 (P))', (decision) => {
    const refusal = judge(proposed().carried, { decision, actor: 'run:7f9d3f0e' });
    expect(refusal).toMatchObject({ success: false, code: 'HUMAN_REQUIRED', retryable: false });
  });
});
