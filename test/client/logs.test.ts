import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLog, type AttemptLog } from '../../client/logs';

let log: AttemptLog;
beforeEach(() => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-run-'));
  log = { taskId: 'T', attemptId: 'a', directory, path: join(directory, 'stdout.jsonl') };
});
afterEach(() => {
  rmSync(log.directory, { recursive: true, force: true });
});

async function lines(options = {}): Promise<string[]> {
  const read: string[] = [];
  for await (const line of readLog(log, options)) read.push(line);
  return read;
}

describe('readLog', () => {
  it('splits at newlines only, keeps empty lines and the last line without one (P16)', async () => {
    writeFileSync(log.path, 'a\r\n\n{"t":"\u2028\u2029"}\nlast');
    expect(await lines()).toEqual(['a', '', '{"t":"\u2028\u2029"}', 'last']);
  });

  it('keeps a character that two reads share', async () => {
    const text = `${'x'.repeat(64 * 1024 - 1)}é`;
    writeFileSync(log.path, `${text}\nb\n`);
    expect(await lines()).toEqual([text, 'b']);
  });

  it('cuts a line that is too long with a visible mark, and goes on after it (P14)', async () => {
    writeFileSync(log.path, `${'x'.repeat(3_000_000)}\nafter\n`);
    const [long = '', after] = await lines();
    expect(long).toMatch(/^x+ \[\d+ more characters\]$/);
    expect(long.length).toBeLessThan(300_000);
    expect(after).toBe('after');
  });

  it('is empty when nothing was printed yet', async () => {
    expect(await lines()).toEqual([]);
  });

  it('follows until the attempt has ended, the last line included', async () => {
    const following = lines({ follow: true });
    writeFileSync(log.path, 'one\n');
    await new Promise((resolve) => setTimeout(resolve, 400));
    appendFileSync(log.path, 'two\n');
    writeFileSync(join(log.directory, 'exit.json'), '{}');
    expect(await following).toEqual(['one', 'two']);
  });
});
