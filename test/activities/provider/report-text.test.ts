import fc from 'fast-check';
import { redactReport } from '../../../activities/provider/report-text';
import { readCheckpoint } from '../../../workflows/task-record/read-checkpoint';
import { checkpoint } from '../../helpers/checkpoint';

const FENCE = '```';
const expected = { taskId: 'T', session: null, criteria: ['c1'], isCleanedFirst: true };
const read = (message: string, secrets: readonly string[] = []) =>
  readCheckpoint(redactReport(message, secrets), expected);
const saying = (summary: string) => JSON.stringify(checkpoint('T', { summary }));
const fenced = (report: string) => `Read this.\n\n${FENCE}checkpoint\n${report}\n${FENCE}\n`;
/** JSON as a provider writes it that escapes whatever it can. */
const escaped = (json: string) =>
  json.replaceAll(/(?<!\\)[a-z\u0080-\uffff](?=[^"]*-1234567)/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

describe('a report without its secrets', () => {
  it.each([
    ['documented "PERDURE_TOKEN=changeme" in the README', 'documented "PERDURE_TOKEN=[redacted]" in the README'],
    ['it compares -----BEGIN PRIVATE KEY----- with its fixture', 'it compares [redacted]'],
    ['moved config to "password: see-vault"', 'moved config to "password: [redacted]"'],
  ])('stays one that can be read: %s', (summary, shown) => {
    expect(read(saying(summary))).toMatchObject({ report: { summary: shown } });
    expect(read(fenced(saying(summary)))).toMatchObject({ report: { summary: shown } });
  });

  it('keeps its fields apart', () => {
    const report = checkpoint('T', {
      remainingWork: ['http://localhost:3000'],
      criteria: [{ id: 'c1', state: 'unmet', evidence: ['npm@10'] }],
    });
    expect(read(JSON.stringify(report))).toEqual({ report });
  });

  it.each(['pa"ss\\word-1234567', 'tök€n-1234567890abc', 'plain-1234567890', 'two\nlines-1234567'])(
    'has none of a secret that JSON escapes: %j',
    (secret) => {
      const report = saying(`key ${secret} here`);
      for (const message of [report, escaped(report), fenced(report), fenced(escaped(report))]) {
        expect(read(message, [secret])).toMatchObject({ report: { summary: 'key [redacted] here' } });
      }
    },
  );

  it('has none in a name, under a telling name, or in the words before it', () => {
    const secret = 's3cret-of-the-host';
    const odd = JSON.stringify({ [secret]: 1, api_key: 'abc def ghi', list: [secret] });
    expect(redactReport(odd, [secret])).toBe('{"[redacted]":1,"api_key":"[redacted]","list":["[redacted]"]}');
    const told = `It is ${secret}.\n${fenced(saying('fine'))}`;
    expect(redactReport(told, [secret])).not.toContain(secret);
    expect(read(told, [secret])).toMatchObject({ report: { summary: 'fine' } });
  });

  it('is redacted as any text where it is none', () => {
    for (const text of [
      'key s3cret-of-the-host',
      '{"key": s3cret-of-the-host',
      `${FENCE}checkpoint s3cret-of-the-host`,
    ])
      expect(redactReport(text, ['s3cret-of-the-host'])).not.toContain('s3cret');
  });

  it('shows no secret, and every harmless report as it was', () => {
    const secret = fc.stringMatching(/^s3[A-Z0-9]{6,40}$/);
    const text = fc.string({ unit: 'binary', maxLength: 60 });
    fc.assert(
      fc.property(secret, fc.tuple(text, text), fc.boolean(), (value, [before, after], isFenced) => {
        const report = JSON.stringify({ summary: `${before}${value}${after}`, list: [before, value] });
        const shown = redactReport(isFenced ? fenced(report) : report, [value]);
        expect(shown).not.toContain(value);
        const json = isFenced ? shown.split('\n').at(-2) : shown;
        expect(JSON.parse(json ?? '')).toHaveProperty('list');
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['brackets', '['],
    ['names', '{"a":'],
    ['fences', `${FENCE}checkpoint\n`],
    ['words of a secret', '"token='],
    ['empty texts', '"",'],
    ['short texts', '"sk-abc",'],
  ])('comes at once for 64 KiB of %s', (_, unit) => {
    const many = unit.repeat(Math.floor((64 * 1024 - 20) / unit.length));
    const secrets = Array.from({ length: 40 }, (_each, n) => `secret-${String(n)}-${'x'.repeat(200)}`);
    const began = performance.now();
    for (const message of [many, `[${many}""]`, fenced(`[${many}""]`)]) redactReport(message, secrets);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
