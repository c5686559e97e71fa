import type { AuditedAttempt } from '../../client/index';
import type { Outcome } from '../../contract/failures';
import type { Incident } from '../../contract/incident';
import { auditLines } from '../../cli/audit';
import { nextLines } from '../../cli/incident';
import { eventLines } from '../../cli/event-lines';
import { printAnswer, styleFor } from '../../cli/output';
import { settledLines, settledNotes } from '../../cli/settled';
import { treeLines } from '../../cli/task-tree';
import { whyLines } from '../../cli/why';

const plain = styleFor({});
const uuid = '01a00000-0000-7000-8000-000000000001';

/** Notes of an outcome, whatever else it says. */
const notesOf = (outcome: Outcome<object> & Record<string, unknown>) => settledNotes(outcome);

describe('treeLines', () => {
  it('indents every task below what it is a part of, and makes titles safe', () => {
    const leaf = { id: 'T-3', title: 'a\nT-9', status: 'pending', children: [] };
    const child = { id: 'T-2', title: 'part', status: 'failed', children: [leaf] };
    expect(treeLines({ id: 'T-1', title: 'whole', status: 'in_progress', children: [child] }, 0)).toEqual([
      'T-1  in_progress  whole',
      '  T-2  failed  part',
      '    T-3  pending  a\\u{a}T-9',
    ]);
  });
});

describe('eventLines', () => {
  const started = (item: object) => eventLines(JSON.stringify({ type: 'item.started', item }));

  it('shows what an agent does at the moment', () => {
    expect(started({ type: 'command_execution', command: 'npm test' })).toEqual(['runs: npm test']);
    expect(started({ type: 'file_change', changes: [{ path: 'a.ts', kind: 'add' }] })).toEqual([
      'runs: file_change a.ts',
    ]);
    expect(started({ type: 'mcp_tool_call', server: 's', tool: 't' })).toEqual(['runs: mcp_tool_call s t']);
    expect(started({ type: 'web_search', query: '' })).toEqual(['runs: web_search']);
  });

  it('shows no beginning of what is only said, and no steering character', () => {
    expect(started({ type: 'reasoning', text: 'hm' })).toEqual([]);
    expect(started({ type: 'command_execution', command: 'x\u001b[2J' })).toEqual(['runs: x\\u{1b}[2J']);
  });
});

describe('auditLines', () => {
  const attempt = {
    ...{ attemptId: uuid, number: 1, mode: 'start', threadId: uuid, spawns: 1, workspacePath: '/home/w' },
    ...{
      requestedAt: '2027-01-01T00:00:00.000Z',
      startedAt: '2027-01-01T00:00:00.000Z',
      endedAt: null,
      outcome: null,
      code: null,
      exit: null,
    },
  } as unknown as AuditedAttempt;

  it('fits a terminal and says where the work is', () => {
    const ended = { ...attempt, endedAt: '2027-01-01T00:00:01.000Z', outcome: 'failed', code: 'time_budget' } as const;
    const exit = { code: null, signal: 'SIGTERM', forced: false };
    const lines = auditLines(
      {
        taskId: 'T',
        attempts: [
          { ...attempt, startedAt: null },
          { ...ended, exit },
        ],
        receipts: [],
      },
      plain,
    );
    expect(lines).toEqual([
      '#1 start running, spawns 1, asked for 2027-01-01T00:00:00.000Z',
      `  attempt ${uuid}  thread ${uuid}`,
      '  work /home/w',
      '#1 start failed (time_budget), exit SIGTERM, spawns 1, 2027-01-01T00:00:00.000Z to 2027-01-01T00:00:01.000Z',
      `  attempt ${uuid}  thread ${uuid}`,
      '  work /home/w',
      'no receipts',
    ]);
  });
});

describe('whyLines', () => {
  const why = {
    ...{ taskId: 'T', sentence: 'It runs.', phase: 'dispatchTask', status: 'in_progress' as const },
    ...{ since: '2027-01-01T00:00:00.000Z', attention: 'running', next: 'stop', facts: ['host h'], activities: [] },
  };

  it('names status, since when, the executor, what moves it on and the evidence', () => {
    const executor = { attemptId: uuid, hostId: 'h', threadId: null, startedAt: '2027-01-01T00:00:01.000Z' };
    expect(whyLines({ ...why, executor }, plain)).toEqual([
      'It runs.',
      'status     in_progress since 2027-01-01T00:00:00.000Z',
      'phase      dispatchTask',
      'attention  running',
      `executor   attempt ${uuid} on host h, thread not known yet, since 2027-01-01T00:00:01.000Z`,
      'next       stop',
      '- host h',
    ]);
  });

  it('says that no run executes the task', () => {
    expect(whyLines({ ...why, executor: null }, plain)).toContain('executor   none');
  });
});

describe('a settled result', () => {
  const settled = { taskId: 'T', agentId: 'a', threadId: null, taskStatus: 'in_progress', workspacePath: '/home/w' };

  it('says where the work is', () => {
    expect(settledLines(settled, plain)).toContain('work    /home/w');
    const failed = { success: false as const, code: 'time_budget', error: 'too long', workspacePath: '/home/w' };
    expect(settledNotes(failed)).toEqual(['work  /home/w']);
  });

  it('says what an open task waits for, and nothing when it is recorded', () => {
    const open = { success: true as const, ...settled };
    expect(settledNotes(open)).toEqual([
      'next: perdure task complete T --result ... , or perdure task fail T --reason ...',
    ]);
    expect(notesOf({ ...open, taskId: 'a b' })[0]).toContain("perdure task complete 'a b' --result");
    expect(notesOf({ ...open, taskStatus: 'review' })).toEqual([
      'next: perdure decide T approve , or perdure decide T send_back --note ...',
    ]);
    const recorded = { ...open, taskStatus: 'completed' };
    expect(settledNotes(recorded)).toEqual([]);
  });
});

describe('a delivery that rests', () => {
  it('names the command that lets it go on, with its id', () => {
    const rests = { success: false as const, error: 'paused', taskId: 'a b', taskStatus: 'interrupted' };
    expect(notesOf({ ...rests, code: 'token_budget' })).toEqual(["next: perdure decide 'a b' --continue --tokens N"]);
    expect(notesOf({ ...rests, code: 'input_required', workspacePath: '/w' })).toEqual([
      'work  /w',
      "next: perdure decide 'a b' --continue --note ...",
    ]);
    expect(notesOf({ ...rests, code: 'user_stopped' })).toEqual([]);
  });
});

describe('what answers an incident', () => {
  const incident: Incident = {
    ...{ id: 'incident:interrupted_owner:x', code: 'interrupted_owner', subject: 'x', evidence: [], decidedAt: null },
    at: '2027-01-01T00:00:00.000Z',
    stages: [],
  };

  it('is named while it is open, with both ids', () => {
    expect(nextLines('T', incident).join('\n')).toContain(
      'next  perdure decide T retry --incident incident:interrupted_owner:x',
    );
    expect(nextLines('T', { ...incident, decidedAt: incident.at })).toEqual([]);
    expect(nextLines('T', { ...incident, code: 'stop_unconfirmed' })).toEqual([]);
  });
});

describe('printAnswer', () => {
  it('prints the warnings of an answer on stderr', () => {
    const written: string[] = [];
    const stderr = jest.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    const stdout = jest.spyOn(process.stdout, 'write').mockImplementation(() => true);
    printAnswer(false, { taskId: 'T', warnings: ['the run still works'] }, () => ['task T']);
    stderr.mockRestore();
    stdout.mockRestore();
    expect(written).toEqual(['warning: the run still works\n']);
  });
});
