import fc from 'fast-check';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventReader, MAX_LINE } from '../../../activities/provider/event-reader';
import { noEvents, reduceLine } from '../../../activities/provider/event-reducer';
import { OutputFollower } from '../../../activities/provider/output-follower';
import { chunkSizes, cut, providerBytes } from '../../helpers/provider-bytes';
import { readAtOnce, type Reading } from './output-model';

const RUNS = Number(process.env.PERDURE_SEQUENCES ?? 300);
/** Short enough that lines are dropped. */
const SHORT_LINE = 150;

function readInChunks(chunks: Buffer[], maxLine: number): Reading {
  const events = noEvents();
  let resultAt = 0;
  const reader = new EventReader((line, _start, end) => {
    const { terminal } = events;
    reduceLine(events, line);
    if (events.terminal !== terminal) resultAt = end;
  }, maxLine);
  for (const chunk of chunks) {
    // As the follower does: the memory of a chunk is used again for the next one.
    const memory = Buffer.from(chunk);
    reader.push(memory);
    memory.fill(0x0a);
  }
  reader.end();
  return { events, oversized: reader.oversized, resultAt };
}

describe('any output in any chunks', () => {
  it.each([SHORT_LINE, MAX_LINE])(
    'is read as if it were there at once, with lines of up to %d bytes (CX-11 to CX-15, CX-18, CX-19, P14, P16)',
    (maxLine) => {
      fc.assert(
        fc.property(providerBytes, chunkSizes, (bytes, sizes) => {
          expect(readInChunks(cut(bytes, sizes), maxLine)).toEqual(readAtOnce(bytes, maxLine));
        }),
        { numRuns: RUNS },
      );
    },
  );

  it('is the same line by line and at which bytes each lies, for every way to cut it in two (CX-19)', () => {
    const bytes = Buffer.from('\uFEFF{"a":"grüße 🙂"}\r\n\n"x\u2028\u2029y"\n\xff\n{"last":true}');
    const linesOf = (chunks: Buffer[]) => {
      const lines: [string, string][] = [];
      const reader = new EventReader((line, start, end) => {
        lines.push([line, bytes.toString('utf8', start, end)]);
      });
      for (const chunk of chunks) reader.push(chunk);
      reader.end();
      return lines;
    };
    const whole = linesOf([bytes]);
    expect(whole.map(([line]) => line)).toEqual(['{"a":"grüße 🙂"}\r', '"x\u2028\u2029y"', 'ÿ', '{"last":true}']);
    expect(whole.map(([, raw]) => raw.replace(/^\uFEFF/, '').replace(/\n$/, ''))).toEqual(whole.map(([line]) => line));
    for (let at = 1; at < bytes.length; at += 1) {
      expect(linesOf([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    }
  });

  it('is read whatever it nests (CX-11)', () => {
    const deep = 200_000;
    const bytes = Buffer.from(
      [
        `{"type":"thread.started","thread_id":${'['.repeat(deep)}${']'.repeat(deep)}}`,
        `{"type":"item.completed","item":${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}}`,
        '['.repeat(deep),
        '{"type":"turn.completed","usage":{"__proto__":{"input_tokens":7}}}',
      ].join('\n'),
    );
    const reading = readInChunks([bytes], MAX_LINE);
    expect(reading).toEqual(readAtOnce(bytes, MAX_LINE));
    expect(reading.events).toMatchObject({ events: 3, unreadable: 1, usage: { inputTokens: 0 } });
  });

  it.each([
    [MAX_LINE, 0],
    [MAX_LINE + 1, 1],
  ])('takes a line of %d bytes, or drops it whole: %d dropped (CX-11, CX-15)', (length, oversized) => {
    const begin = '{"type":"thread.started","thread_id":"t","x":"';
    const line = `${begin}${'x'.repeat(length - begin.length - 2)}"}`;
    const reading = readInChunks(cut(Buffer.from(line), [256 * 1024]), MAX_LINE);
    expect(reading).toMatchObject({ oversized, events: { threadIds: oversized === 0 ? ['t'] : [] } });
  });
});

describe('a file that grows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-fuzz-'));
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('is followed to the same end in reads of any size (CX-13, CX-19)', async () => {
    let serial = 0;
    await fc.assert(
      fc.asyncProperty(providerBytes, chunkSizes, fc.integer({ min: 1, max: 500 }), async (bytes, sizes, limit) => {
        serial += 1;
        const file = join(directory, `stdout-${serial}`);
        const output = new OutputFollower(file);
        for (const chunk of cut(bytes, sizes)) {
          appendFileSync(file, chunk);
          await output.read(limit);
        }
        while (!(await output.read(limit)));
        output.finish();
        await output.close();
        const { events, oversized, resultAt } = output;
        expect({ events, oversized, resultAt }).toEqual(readAtOnce(bytes, MAX_LINE));
        rmSync(file, { force: true });
      }),
      { numRuns: 40 },
    );
  });
});
