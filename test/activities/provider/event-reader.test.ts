import fc from 'fast-check';
import { EventReader } from '../../../activities/provider/event-reader';
import { noEvents, reduceLine, type RunEvents } from '../../../activities/provider/event-reducer';

function linesOf(chunks: Buffer[], maxLine?: number): { lines: string[]; oversized: number } {
  const lines: string[] = [];
  const reader = new EventReader((line) => lines.push(line), maxLine);
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { lines, oversized: reader.oversized };
}

const cutAt = (bytes: Buffer, size: number): Buffer[] => {
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.subarray(start, start + size));
  return chunks;
};

describe('event reader', () => {
  it('joins a character that lies over a chunk border (CX-19)', () => {
    expect(linesOf(cutAt(Buffer.from('grüße 🙂\nnext\n'), 1)).lines).toEqual(['grüße 🙂', 'next']);
  });

  it('takes LF and CRLF, a byte order mark, and a last line without an end; U+2028 splits nothing (P16)', () => {
    const { lines } = linesOf([Buffer.from('\uFEFF{"a":1}\r\n"x\u2028\u2029y"\n{"last":true}')]);
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([{ a: 1 }, 'x\u2028\u2029y', { last: true }]);
  });

  it('drops a line over the limit whole, counts it, and goes on behind it (CX-15)', () => {
    const text = Buffer.from(`short\n${'x'.repeat(11)}\n${'y'.repeat(10)}\nend`);
    expect(linesOf(cutAt(text, 3), 10)).toEqual({ lines: ['short', 'y'.repeat(10), 'end'], oversized: 1 });
  });

  it('holds no more than the limit of a line that never ends (P14)', () => {
    const lines: string[] = [];
    const reader = new EventReader((line) => lines.push(line));
    const chunk = Buffer.alloc(256 * 1024, 'x');
    const before = process.memoryUsage().rss;
    for (let sent = 0; sent < 200 * 1024 * 1024; sent += chunk.length) reader.push(chunk);
    const grown = process.memoryUsage().rss - before;
    reader.push(Buffer.from('\n{"type":"turn.completed"}\n'));
    reader.end();
    expect(lines).toEqual(['{"type":"turn.completed"}']);
    expect(reader.oversized).toBe(1);
    expect(grown).toBeLessThan(64 * 1024 * 1024);
  });

  it('gives the same lines whatever the chunks are, and never throws (CX-11)', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.integer({ min: 1, max: 50 }), (raw, size) => {
        const bytes = Buffer.from(raw);
        expect(linesOf(cutAt(bytes, size), 40)).toEqual(linesOf([bytes], 40));
      }),
    );
  });
});

describe('event reader and reducer', () => {
  const fragment = fc.oneof(
    fc
      .constantFrom(
        '{"type":"thread.started","thread_id":"t"}',
        '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hi"}}',
        '{"type":"item.started","item":{"id":1,"type":null}}',
        '{"type":"turn.completed","usage":{"input_tokens":"many"}}',
        '{"type":"turn.failed","error":"text"}',
        '{"type":"error","message":{}}',
        '{"__proto__":{"type":"error"}}',
        'null',
        '\r',
        '\n',
        '[',
        '\uFEFF',
      )
      .map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
  );

  it('take any bytes without throwing, whatever the chunks are (DF-16)', () => {
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 30 }), fc.integer({ min: 1, max: 40 }), (fragments, size) => {
        const bytes = Buffer.concat(fragments);
        const reduced = (chunks: Buffer[]): RunEvents => {
          const events = noEvents();
          for (const line of linesOf(chunks).lines) reduceLine(events, line);
          return events;
        };
        expect(reduced(cutAt(bytes, size))).toEqual(reduced([bytes]));
      }),
    );
  });
});
