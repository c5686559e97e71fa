import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockHome, type HomeLock } from '../../../cli/up/home-lock';
import { identityOf } from '../../../cli/up/process-identity';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdure-lock-'));
});
afterEach(async () => {
  await rm(home, { recursive: true, force: true });
});

const own = identityOf(process.pid);
const leave = (holder: object | string): Promise<void> =>
  writeFile(join(home, 'up.json'), typeof holder === 'string' ? holder : JSON.stringify(holder));

describe('lockHome', () => {
  it('holds the home until it is released', async () => {
    const lock = await lockHome(home);
    await lock.tellAddress('127.0.0.1:7233');
    await expect(lockHome(home)).rejects.toThrow(`pid ${String(process.pid)} at 127.0.0.1:7233`);

    await lock.release();

    await (await lockHome(home)).release();
    expect(await readdir(home)).toEqual([]);
  });

  it.each([
    ['a pid that was used again', { ...own, startTime: '1' }],
    ['another boot', { ...own, bootId: 'another' }],
    ['a file that says nothing', ''],
  ])('replaces the lock of a dead process: %s', async (_case, holder) => {
    await leave(holder);
    await expect(lockHome(home)).resolves.toBeDefined();
  });

  it('gives a dead lock to one of many that want it', async () => {
    await leave({ ...own, startTime: '1' });

    const results = await Promise.allSettled(Array.from({ length: 20 }, () => lockHome(home)));

    const held = results.filter((result): result is PromiseFulfilledResult<HomeLock> => result.status === 'fulfilled');
    expect(held).toHaveLength(1);
    expect(await readdir(home)).toEqual(['up.json']);
  });
});
