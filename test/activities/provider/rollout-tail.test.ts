import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { firstTurnSince, isTurnInterrupted, lastContext, lastUsage } from '../../../activities/provider/rollout-tail';
import { context, turn, usage } from '../../helpers/stored-rollout';

const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

describe('the end of a rollout (CX-18)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-tail-'));
  const path = join(directory, 'rollout.jsonl');
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const found = (inputTokens: number, outputTokens: number) => ({
    kind: 'found',
    value: { inputTokens, cachedInputTokens: 0, outputTokens },
  });

  it('has the last running total, also behind other lines and a torn one', async () => {
    writeFileSync(path, line(usage(100, 10)) + line(usage(200, 20)) + line({ type: 'event_msg', payload: {} }));
    expect(await lastUsage(path)).toEqual(found(200, 20));
    appendFileSync(path, line(usage(300, 30)).slice(0, -5));
    expect(await lastUsage(path)).toEqual(found(200, 20));
    writeFileSync(path, line(usage(100, 10)).trimEnd());
    expect(await lastUsage(path)).toEqual(found(100, 10));
  });

  it('takes no text of a message for a record', async () => {
    const quoted = { type: 'response_item', payload: { text: line(usage(900, 90)) } };
    writeFileSync(path, line(usage(100, 10)) + line(quoted));
    expect(await lastUsage(path)).toEqual(found(100, 10));
  });

  it('has none in an empty file or one without a record, and is unreadable where there is no file', async () => {
    writeFileSync(path, '');
    expect(await lastUsage(path)).toEqual({ kind: 'absent' });
    writeFileSync(path, line({ type: 'session_meta' }));
    expect(await lastUsage(path)).toEqual({ kind: 'absent' });
    expect(await lastUsage(join(directory, 'nothing'))).toMatchObject({ kind: 'unreadable' });
  });

  it('is looked for behind an answer of 6 MB, and in no more than the last 32 MiB', async () => {
    const long = line({ type: 'response_item', payload: { text: 'x'.repeat(6_000_000) } });
    writeFileSync(path, line(usage(100, 10)) + long);
    expect(await lastUsage(path)).toEqual(found(100, 10));
    for (let n = 0; n < 5; n += 1) appendFileSync(path, long);
    expect(await lastUsage(path)).toMatchObject({ kind: 'unreadable' });
  });

  it('has the place and the policy of the last turn', async () => {
    writeFileSync(
      path,
      line(context({ sandbox: 'read-only' })) + line(context({ cwd: '/v', approval: { granular: {} } })),
    );
    expect(await lastContext(path)).toEqual({
      kind: 'found',
      value: { cwd: '/v', approval: 'granular', sandbox: 'workspace-write', model: 'gpt-5.5' },
    });
  });

  it.each<[boolean, string, unknown[]]>([
    [true, 'the turn', [turn('task_started', '2'), turn('turn_aborted', '2', 'interrupted')]],
    [
      true,
      'the turn, before another one',
      [turn('task_started', '2'), turn('turn_aborted', '2', 'interrupted'), turn('task_started', '3')],
    ],
    [false, 'an earlier turn', [turn('turn_aborted', '1', 'interrupted'), turn('task_started', '2')]],
    [
      false,
      'a later turn',
      [turn('task_started', '2'), turn('task_started', '3'), turn('turn_aborted', '3', 'interrupted')],
    ],
    [false, 'nobody', [turn('task_started', '2')]],
    [false, 'another cause', [turn('task_started', '2'), turn('turn_aborted', '2', 'replaced')]],
  ])('says %s of an interrupt of %s (US-13)', async (expected, _what, lines) => {
    writeFileSync(path, [turn('task_started', '1'), ...lines].map(line).join(''));
    const began = await firstTurnSince(path, Date.parse('2026-11-29T10:00:01.500Z'));
    expect(began).toBe('2');
    expect(await isTurnInterrupted(path, '2')).toBe(expected);
  });

  it('names no turn where none began since', async () => {
    writeFileSync(path, line(turn('task_started', '1')));
    expect(await firstTurnSince(path, Date.parse('2026-11-29T10:00:01.500Z'))).toBeNull();
  });

  it('is never misread, whatever bytes it is made of: a total that was written, or none', async () => {
    const totals = fc.nat({ max: 1_000_000 });
    const whole = totals.map((input) => ({ bytes: Buffer.from(line(usage(input, 1))), input }));
    const torn = fc
      .tuple(totals, fc.nat({ max: 120 }))
      .map(([input, cut]) => ({ bytes: Buffer.from(line(usage(input, 1))).subarray(0, cut), input: null }));
    const noise = fc.uint8Array({ maxLength: 300 }).map((bytes) => ({ bytes: Buffer.from(bytes), input: null }));
    const break_ = fc.constant({ bytes: Buffer.from('\n'), input: null });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(whole, torn, noise, break_), { maxLength: 12 }), async (parts) => {
        writeFileSync(path, Buffer.concat(parts.map(({ bytes }) => bytes)));
        const read = await lastUsage(path);
        const written = parts.map(({ input }) => input).filter((input) => input !== null);
        if (read.kind === 'found') expect(written).toContain(read.value.inputTokens);
        else expect(read.kind).toBe('absent');
        // One that begins a line of its own, and that nothing follows, is always the one.
        const last = parts.at(-1);
        const before = parts.at(-2);
        if (typeof last?.input === 'number' && (before === undefined || before.bytes.at(-1) === 0x0a)) {
          expect(read).toMatchObject({ kind: 'found', value: { inputTokens: last.input } });
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
