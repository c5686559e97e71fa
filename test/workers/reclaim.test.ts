import { ActivityNotFoundError } from '@temporalio/client';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { noteFollower } from '../../activities/provider/followers';
import { reclaimOnce, startReclaim, type ActivityFailer } from '../../workers/reclaim';
import { until } from '../helpers/until';

const ACTIVITY = { workflowId: 'task/default/T-1', runId: 'run', activityId: '7' };

describe('reclaim of the runs of dead workers', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'perdure-reclaim-'));
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });

  function client(fail: () => Promise<void> = () => Promise.resolve()): ActivityFailer & { failed: unknown[] } {
    const failed: unknown[] = [];
    return {
      failed,
      activity: {
        fail: async (id, error) => {
          failed.push({ id, error });
          await fail();
        },
      },
    };
  }
  const notes = (): string[] => readdirSync(join(home, 'followers'));

  /** Leaves a note as a worker does that was killed. */
  function noteOfDeadWorker(): void {
    noteFollower(home, 'attempt', ACTIVITY);
    const path = join(home, 'followers', 'attempt.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace(/"startTime":"\d+"/, '"startTime":"1"'));
  }

  it('ends the activity of a dead worker so that it is tried again at once', async () => {
    noteOfDeadWorker();
    const temporal = client();
    expect(await reclaimOnce({ home, client: temporal })).toBe(1);
    expect(temporal.failed).toEqual([
      { id: ACTIVITY, error: expect.objectContaining({ type: 'worker_gone', nonRetryable: false }) },
    ]);
    expect(notes()).toEqual([]);
  });

  it('is won by one of several workers', async () => {
    noteOfDeadWorker();
    const temporal = client();
    await Promise.all([1, 2, 3].map(() => reclaimOnce({ home, client: temporal })));
    expect(temporal.failed).toHaveLength(1);
  });

  it('leaves the run of a live worker alone, and a note that it cannot read', async () => {
    const forget = noteFollower(home, 'attempt', ACTIVITY);
    writeFileSync(join(home, 'followers', 'torn.json'), '{"worker":');
    const temporal = client();
    expect(await reclaimOnce({ home, client: temporal })).toBe(0);
    expect(temporal.failed).toEqual([]);
    forget();
    expect(notes()).toEqual(['torn.json']);
  });

  it('takes back no note of a later follower', () => {
    const forget = noteFollower(home, 'attempt', ACTIVITY);
    noteFollower(home, 'attempt', ACTIVITY);
    forget();
    expect(notes()).toEqual(['attempt.json']);
  });

  it('forgets an activity that is over, and tries again when the server is away', async () => {
    noteOfDeadWorker();
    await reclaimOnce({ home, client: client(() => Promise.reject(new Error('14 UNAVAILABLE'))) });
    expect(notes()).toEqual(['attempt.json']);
    await reclaimOnce({ home, client: client(() => Promise.reject(new ActivityNotFoundError('over'))) });
    expect(notes()).toEqual([]);
  });

  it('goes on by itself until it is ended', async () => {
    const temporal = client();
    const reclaim = startReclaim({ home, client: temporal });
    noteOfDeadWorker();
    await until(() => temporal.failed.length > 0);
    reclaim.stop();
  });
});
