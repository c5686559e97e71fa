import { defaultPayloadConverter, type WorkflowExecutionDescription } from '@temporalio/client';
import { runningThread, waitOf, withPending } from '../../client/why';
import type { Why } from '../../contract/task';

const why: Why = {
  sentence: 'Attempt 2 (resume) runs on host h.',
  phase: 'dispatchTask',
  status: 'in_progress',
  since: '2027-01-01T00:00:00.000Z',
  attention: 'running',
  next: 'the end of the run, or stop',
  facts: ['host h', 'thread not known yet'],
  executor: { attemptId: 'a', hostId: 'h', threadId: null, startedAt: null },
};

const [SCHEDULED, STARTED] = [1, 2];

/** What the server says of a run with one activity, which was due some seconds ago. */
function run(pending: object, secondsAgo = 10): WorkflowExecutionDescription {
  const scheduledTime = { seconds: Math.floor(Date.now() / 1_000) - secondsAgo };
  const raw = { pendingActivities: [{ activityType: { name: 'runProvider' }, scheduledTime, ...pending }] };
  const status = { name: 'RUNNING' };
  return { raw, status, typedSearchAttributes: { get: () => 'h' } } as unknown as WorkflowExecutionDescription;
}

const beat = (details: object) => ({ heartbeatDetails: { payloads: [defaultPayloadConverter.toPayload(details)] } });

describe('withPending', () => {
  it('says that a run which no worker took up waits for one', () => {
    expect(withPending(why, run({ state: SCHEDULED }))).toMatchObject({
      sentence: 'Attempt 2 (resume) waits for a worker of host h; it has not started.',
      next: expect.stringContaining('perdure worker') as string,
    });
  });

  it('tells a run that a worker had taken up from one that never started', () => {
    const { sentence } = withPending(why, run({ state: SCHEDULED, lastWorkerIdentity: 'perdure-host 1@h' }));
    expect(sentence).toBe('Attempt 2 (resume) waits for a worker of host h that follows it again.');
  });

  it('leaves a run alone that is followed, that is just handed over, or that is being stopped', () => {
    expect(withPending(why, run({ state: STARTED }))).toEqual(why);
    expect(withPending(why, run({ state: SCHEDULED }, 0))).toEqual(why);
    const stopping = { ...why, attention: 'stopping', sentence: 'A stop was accepted.' };
    expect(withPending(stopping, run({ state: SCHEDULED }))).toEqual(stopping);
  });

  it('says of a workflow that somebody ended that the record is from before', () => {
    const ended = { ...run({ state: STARTED }), status: { name: 'TERMINATED' }, closeTime: new Date(0) };
    expect(withPending(why, ended as unknown as WorkflowExecutionDescription)).toMatchObject({
      attention: 'closed',
      sentence: 'The workflow of the task was terminated at 1970-01-01T00:00:00.000Z; what follows is from before.',
    });
  });

  it('names the thread that the host reported and the record does not know yet', () => {
    const { facts, executor } = withPending(why, run({ state: STARTED, ...beat({ threadId: 'th' }) }));
    expect(facts).toEqual(['host h', 'thread th']);
    expect(executor).toEqual({ ...why.executor, threadId: 'th' });
  });
});

describe('runningThread', () => {
  it('is none before the provider named one', () => {
    expect(runningThread(run({ state: STARTED, ...beat({ threadId: null }) }))).toBeUndefined();
    expect(runningThread(run({ state: STARTED }))).toBeUndefined();
  });
});

describe('waitOf', () => {
  it('looks at the run of the provider only', () => {
    expect(waitOf(run({ state: SCHEDULED, activityType: { name: 'storeReceipt' } }))).toBeUndefined();
  });
});
