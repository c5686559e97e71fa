import { settle } from '../../client/wait';
import type { Attempt } from '../../contract/run';

const attempt: Attempt = {
  attemptId: '7f9d3f0e-6d4b-4c55-9f4e-2a4f1f0a0001',
  number: 1,
  mode: 'start',
  agentId: 'general-purpose',
  provider: 'codex',
  hostId: 'h',
  actor: 'user:x',
  policy: { sandbox: 'workspace-write', model: null },
  limits: { timeMs: 60_000, inactivityMs: 60_000, startMs: 60_000, outputBytes: 1_024 },
  completion: 'caller',
  threadId: 'th',
  codexHome: null,
  workspacePath: null,
  cliVersion: null,
  requestedAt: '2027-01-01T00:00:00.000Z',
  startedAt: null,
  endedAt: '2027-01-01T00:00:01.000Z',
  settledAt: '2027-01-01T00:00:02.000Z',
  outcome: 'completed',
  code: null,
  error: null,
  exit: null,
  spawns: 1,
  strays: 0,
  observation: { text: 'done', bytes: 4 },
  usage: null,
  threadUsage: null,
  executionResultId: 'r-1',
  criteria: [],
  receipts: [],
  warnings: [],
};

describe('settle', () => {
  it('answers a run that completed with its observation, its result id and the status read again (SR1, SR2)', () => {
    expect(settle('T', attempt, 'in_progress')).toEqual({
      success: true,
      taskId: 'T',
      agentId: 'general-purpose',
      threadId: 'th',
      observation: 'done',
      executionResultId: 'r-1',
      taskStatus: 'in_progress',
    });
  });

  it('leaves the status out when it could not be read again (SR4, GN4)', () => {
    expect(settle('T', attempt, undefined)).not.toHaveProperty('taskStatus');
  });

  it('answers a failed run with code, status and result id, and no observation (SR3, SR10)', () => {
    const failed: Attempt = { ...attempt, outcome: 'failed', code: 'time_budget', error: 'too long' };
    const settled = settle('T', failed, 'failed');
    expect(settled).toMatchObject({
      success: false,
      code: 'time_budget',
      error: 'too long',
      retryable: true,
      taskStatus: 'failed',
      executionResultId: 'r-1',
    });
    expect(settled).not.toHaveProperty('observation');
  });

  it('keeps the warnings of a run that failed, and has none without any (GN6, GN4)', () => {
    const failed: Attempt = { ...attempt, outcome: 'failed', code: 'time_budget', warnings: ['two strays were ended'] };
    expect(settle('T', failed, 'failed')).toMatchObject({ success: false, warnings: ['two strays were ended'] });
    expect(settle('T', { ...failed, warnings: [] }, 'failed')).not.toHaveProperty('warnings');
  });

  it('says where the work is, of a success and of a failure alike', () => {
    const workspacePath = '/home/w';
    expect(settle('T', { ...attempt, workspacePath }, 'completed')).toMatchObject({ success: true, workspacePath });
    const failed: Attempt = { ...attempt, workspacePath, outcome: 'failed', code: 'time_budget', error: 'too long' };
    expect(settle('T', failed, 'failed')).toMatchObject({ success: false, workspacePath });
  });

  it('does not call a run a success whose criteria were not met', () => {
    const unmet: Attempt = { ...attempt, code: 'CRITERIA_NOT_MET', error: 'not met: false' };
    expect(settle('T', unmet, 'failed')).toMatchObject({ success: false, code: 'CRITERIA_NOT_MET' });
  });

  it('reports an executor that died without a result as interrupted_owner', () => {
    const lost: Attempt = { ...attempt, outcome: 'interrupted_owner', code: null, observation: null };
    expect(settle('T', lost, 'in_progress')).toMatchObject({ code: 'interrupted_owner', taskStatus: 'in_progress' });
  });
});
