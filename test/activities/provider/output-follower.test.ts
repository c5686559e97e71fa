import { appendFileSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OutputFollower } from '../../../activities/provider/output-follower';

describe('the output of a provider', () => {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-output-'));
  afterAll(() => {
    rmSync(directory, { recursive: true, force: true });
  });

  it('shows work by any text but the notices of a lost connection (BG-8, BG-14, P08)', async () => {
    const file = join(directory, 'stdout.jsonl');
    const output = new OutputFollower(file);
    const print = async (text: string, second: number) => {
      appendFileSync(file, text);
      utimesSync(file, second, second);
      await output.read(Infinity);
      return output.lastActiveAt();
    };
    const notice = '{"type":"error","message":"Reconnecting... 1/5"}\n';
    expect(await print('{"type":"thread.started","thread_id":"t"}\n', 1_000)).toBe(1_000_000);
    expect(await print(notice, 1_001)).toBe(1_000_000);
    expect(await print(notice, 1_002)).toBe(1_000_000);
    expect(await print('no event\n', 1_003)).toBe(1_003_000);
    expect(await print(notice, 1_004)).toBe(1_003_000);
    expect(await print('{"type":"turn.started"}\n', 1_005)).toBe(1_005_000);
    await output.close();
  });
});
