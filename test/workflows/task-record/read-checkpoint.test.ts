import fc from 'fast-check';
import type { Checkpoint } from '../../../contract/checkpoint';
import { readCheckpoint, readVerdict } from '../../../workflows/task-record/read-checkpoint';

const THREAD = '01a00000-0000-7000-8000-000000000001';
const expected = { taskId: 'T-1', session: THREAD, criteria: ['c1', 'c2'], isCleanedFirst: true };
const good: Checkpoint = {
  version: 1,
  taskId: 'T-1',
  session: null,
  status: 'continue',
  summary: 'half of it',
  nextStep: 'the other half',
  remainingWork: ['the other half'],
  criteria: [
    { id: 'c1', state: 'met', evidence: ['ran it'] },
    { id: 'c2', state: 'unmet', evidence: [] },
  ],
  proposedAction: null,
  question: null,
};
const met = [
  { id: 'c1', state: 'met', evidence: [] },
  { id: 'c2', state: 'met', evidence: [] },
];
const json = (change: object = {}) => JSON.stringify({ ...good, ...change });
const block = (text: string) => `All is well.\n\n\`\`\`checkpoint\n${text}\n\`\`\`\n`;
const diagnosticOf = (message: string | null) => {
  const read = readCheckpoint(message, expected);
  return 'diagnostic' in read ? read.diagnostic : read.report;
};

describe('a checkpoint', () => {
  it('is read from a message that is nothing else, and from a block at its end (CK-1, CK-2)', () => {
    expect(readCheckpoint(json(), expected)).toEqual({ report: good });
    expect(readCheckpoint(`\n${json()}\n`, expected)).toEqual({ report: good });
    expect(readCheckpoint(block(json()), expected)).toEqual({ report: good });
    expect(readCheckpoint(json({ session: THREAD }), expected)).toMatchObject({ report: { session: THREAD } });
    expect(
      readCheckpoint(json({ status: 'done', nextStep: null, remainingWork: [], criteria: met }), expected),
    ).toHaveProperty('report');
  });

  it.each([
    ['nothing', null, 'checkpoint_missing'],
    ['only a question', 'Shall I go on?', 'checkpoint_missing'],
    ['broken JSON', '{"version":1', 'checkpoint_missing'],
    ['a broken object', '{"version":1,}', 'checkpoint_malformed'],
    ['a block without an end', '```checkpoint\n{}', 'checkpoint_malformed'],
    ['two blocks', block(json()) + block(json()), 'checkpoint_malformed'],
    ['text after the block', `${block(json())}\nDone.`, 'checkpoint_not_last'],
    ['no object', block('[1]'), 'checkpoint_malformed'],
    ['more than 32 KiB', json({ summary: 'x'.repeat(33_000) }), 'checkpoint_too_large'],
    ['an unknown field', json({ SECRET: 1 }), 'field_invalid at /?'],
    [
      'an unknown field deeper',
      json({ criteria: [{ id: 'c1', state: 'met', evidence: [], SECRET: 1 }] }),
      'field_invalid at /criteria/0/?',
    ],
    ['a missing field', JSON.stringify({ ...good, summary: undefined }), 'field_invalid at /summary'],
    ['a wrong type', json({ remainingWork: 'SECRET' }), 'field_invalid at /remainingWork'],
    ['an empty summary', json({ summary: '' }), 'field_invalid at /summary'],
    [
      '51 pieces of work',
      json({ remainingWork: Array.from({ length: 51 }, () => 'x') }),
      'field_invalid at /remainingWork',
    ],
    ['an unknown status', json({ status: 'SECRET' }), 'field_invalid at /status'],
    ['another task', json({ taskId: 'SECRET' }), 'task_mismatch at /taskId'],
    ['another thread', json({ session: 'SECRET' }), 'session_mismatch at /session'],
    [
      'an unknown criterion',
      json({ criteria: [{ id: 'SECRET', state: 'met', evidence: [] }] }),
      'criteria_unknown at /criteria/0/id',
    ],
    ['a criterion twice', json({ criteria: [met[0], met[0]] }), 'criteria_unknown at /criteria/1/id'],
    ['a criterion left out', json({ criteria: [met[0]] }), 'criteria_missing at /criteria'],
    [
      'done with an open criterion (CK-4)',
      json({ status: 'done', nextStep: null, remainingWork: [] }),
      'criteria_open at /criteria/1/state',
    ],
    ['done with work left', json({ status: 'done', nextStep: null, criteria: met }), 'field_invalid at /remainingWork'],
    ['continue without a next step', json({ nextStep: null }), 'field_invalid at /nextStep'],
    ['blocked without a question', json({ status: 'blocked' }), 'field_invalid at /question'],
  ])('that is %s says which check failed and where, and nothing of it (CK-8, CK-9)', (_, message, diagnostic) => {
    expect(diagnosticOf(message)).toBe(diagnostic);
  });

  it('loses its control characters but line feeds and tabs (CK-3)', () => {
    const read = readCheckpoint(json({ summary: 'a\u0000b\u001b[31mc\r\n\td\u009b' }), expected);
    expect(read).toMatchObject({ report: { summary: 'ab[31mc\n\td' } });
  });

  it.each([
    ['summary', { summary: '\u0007' }, '/summary'],
    ['next step', { nextStep: '\u0007' }, '/nextStep'],
    ['piece of work', { remainingWork: ['a', '\u0007'] }, '/remainingWork/1'],
    ['question', { question: '\u0007' }, '/question'],
    ['action', { proposedAction: { kind: '\u0007', description: 'd', external: true } }, '/proposedAction/kind'],
    ['reason', { proposedAction: { kind: 'k', description: '\u0007', external: true } }, '/proposedAction/description'],
  ])('may not have a %s that holds nothing printable (CK-3, CK-8)', (_, change, path) => {
    expect(diagnosticOf(json(change))).toBe(`field_invalid at ${path}`);
    expect(readCheckpoint(json(change), { ...expected, isCleanedFirst: false })).toHaveProperty('report');
  });

  it('is measured without its control characters (CK-3)', () => {
    expect(diagnosticOf(json({ nextStep: `${'\u0007'.repeat(900)}${'x'.repeat(1_000)}` }))).toHaveProperty('nextStep');
  });

  it('is refused however deep it nests', () => {
    const deep = `${'['.repeat(15_000)}${']'.repeat(15_000)}`;
    expect(diagnosticOf(`{"remainingWork":${deep}}`)).toMatch(/^field_invalid/);
  });

  it('never throws and never shows what it holds, whatever it is (CK-7, CK-8; test 21)', () => {
    const marker = 'S3CRET';
    const anything = fc.jsonValue({ maxDepth: 4 });
    const odd = fc.oneof(anything, fc.constant(marker), fc.constant({ [marker]: marker }), fc.constant([marker]));
    const mutated = fc
      .record({ field: fc.constantFrom(...Object.keys(good), marker, '__proto__'), value: odd })
      .map(({ field, value }) => JSON.stringify(Object.fromEntries([...Object.entries(good), [field, value]])));
    const message = fc.oneof(
      fc.string({ unit: 'binary' }),
      odd.map((value) => JSON.stringify(value)),
      mutated,
      mutated.map(block),
    );
    fc.assert(
      fc.property(message, (text) => {
        const read = readCheckpoint(text, expected);
        if ('report' in read) return;
        expect(read.diagnostic).not.toContain(marker);
        expect(read.diagnostic.length).toBeLessThanOrEqual(240);
        expect(read.diagnostic).toMatch(/^[a-z_]+( at \/[A-Za-z0-9/?]*)?$/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a verdict of a review', () => {
  const verdict = { version: 1, taskId: 'T-1', verdict: 'refuted', findings: ['no test'] };

  it('is read like a checkpoint (CK-18)', () => {
    expect(readVerdict(JSON.stringify(verdict), 'T-1')).toEqual({ report: verdict });
    expect(readVerdict(JSON.stringify(verdict), 'T-2')).toEqual({ diagnostic: 'task_mismatch at /taskId' });
    expect(readVerdict('fine', 'T-1')).toEqual({ diagnostic: 'checkpoint_missing' });
    const blank = JSON.stringify({ ...verdict, findings: ['\u0007'] });
    expect(readVerdict(blank, 'T-1')).toEqual({ diagnostic: 'field_invalid at /findings/0' });
  });
});
