import fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jsonLine } from '../../cli/escape';
import { eventLines, parseEvent } from '../../cli/event-lines';
import { readLog } from '../../client/index';
import { providerBytes } from '../helpers/provider-bytes';

const STEERING =
  // eslint-disable-next-line no-control-regex -- control characters are what it looks for
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\p{Surrogate}/u;
const DEEP = 200_000;

describe('provider output that a person is shown', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-log-'));
  const log = { taskId: 'T-1', attemptId: 'a', directory, path: join(directory, 'stdout.jsonl') };
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  const linesOf = async (bytes: Buffer) => {
    writeFileSync(log.path, bytes);
    const lines: string[] = [];
    for await (const line of readLog(log, {})) lines.push(line);
    return lines;
  };

  it('is the lines that were printed, whatever the bytes (CX-19, P16)', async () => {
    await fc.assert(
      fc.asyncProperty(providerBytes, async (bytes) => {
        const whole = bytes.toString('utf8').split('\n');
        const printed = whole.at(-1) === '' || whole.at(-1) === '\r' ? whole.slice(0, -1) : whole;
        expect(await linesOf(bytes)).toEqual(printed.map((line) => line.replace(/\r$/, '')));
      }),
      { numRuns: 100 },
    );
  });

  it('never throws and never steers a terminal (GU-10, P111)', async () => {
    await fc.assert(
      fc.asyncProperty(providerBytes, async (bytes) => {
        for (const line of await linesOf(bytes)) {
          for (const shown of eventLines(line)) expect(shown).not.toMatch(STEERING);
          expect(jsonLine(parseEvent(line) ?? line)).not.toMatch(STEERING);
        }
      }),
      { numRuns: 100 },
    );
  });

  it.each([`{"type":"x","a":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`, `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`])(
    'is shown however deep it nests',
    (line) => {
      expect(eventLines(line).length).toBeLessThanOrEqual(1);
      expect(typeof jsonLine({ events: [parseEvent(line) ?? line] })).toBe('string');
    },
  );
});
