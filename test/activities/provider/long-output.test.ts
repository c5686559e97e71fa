import { CancelledFailure } from '@temporalio/common';
import { mkdirSync, writeFileSync } from 'node:fs';
import { RunFollower } from '../../../activities/provider/follow-run';
import { OutputFollower } from '../../../activities/provider/output-follower';
import { writeRecord } from '../../../activities/provider/run-directory';
import { createProviderHost, quietContext, say } from '../../helpers/provider-host';

const SIZE = 64 * 1024 * 1024;
const EXIT = { code: 0, signal: null, startedAt: null, endedAt: '2026-01-01T00:00:00.000Z', reason: null };

describe('a long output of a run that is over', () => {
  const host = createProviderHost();
  afterAll(() => host.dispose());

  it('is left at once by a follower that is cancelled, in the middle of reading', async () => {
    const order = host.order([]);
    const paths = host.paths(order);
    mkdirSync(paths.directory, { recursive: true });
    const line = `${JSON.stringify(say('x')['event'])}\n`;
    writeFileSync(paths.stdout, line.repeat(Math.ceil(SIZE / line.length)));
    writeRecord(paths.exit, { ...EXIT, stopReason: null, forced: false, strays: 0, spawnError: null });
    const cancelled = new Promise<never>((_resolve, reject) => {
      setTimeout(() => {
        reject(new CancelledFailure('CANCELLED'));
      }, 50);
    });
    const output = new OutputFollower(paths.stdout);
    const context = quietContext({ cancelled });
    const follower = new RunFollower({ order, paths, output, context, escalation: [300, 300] });
    await expect(follower.follow()).rejects.toBeInstanceOf(CancelledFailure);
    expect(output.offset).toBeLessThan(SIZE);
    await output.close();
  });
});
