import { mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findMarkedThread, findRollout } from '../../../activities/provider/rollout-files';
import { prompt, storeRollout } from '../../helpers/stored-rollout';

const A = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf610';
const B = '01a227c2-a5ee-7f82-b3d2-3c14cbcdf611';
const MARK = '11111111-1111-4111-8111-111111111111';

describe('threads that a Codex home stores', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'perdure-rollouts-'));
  });
  afterEach(() => {
    rmSync(home, { recursive: true, force: true });
  });

  it('are found by their id, whatever the day, also when archived', async () => {
    const path = storeRollout(home, { threadId: A, day: '2025/01/02', lines: [] });
    storeRollout(home, { threadId: B, lines: [] });
    expect(await findRollout(home, A)).toEqual({ path, threadId: A, isArchived: false });
    const archived = join(home, 'archived_sessions', basename(path));
    mkdirSync(join(home, 'archived_sessions'));
    renameSync(path, archived);
    expect(await findRollout(home, A.toUpperCase())).toEqual({ path: archived, threadId: A, isArchived: true });
    expect(await findRollout(home, MARK)).toBeNull();
    expect(await findRollout(join(home, 'nothing'), A)).toBeNull();
  });

  it('are found by the mark of the attempt that began them, before thread.started was ever read (CX-16)', async () => {
    storeRollout(home, { threadId: B, mark: 'another', lines: [prompt()] });
    storeRollout(home, { threadId: A, mark: MARK, day: '2026/11/28', lines: [prompt()] });
    const since = Date.UTC(2026, 10, 28, 12);
    expect(await findMarkedThread(home, MARK, since)).toEqual({ kind: 'found', threadId: A });
    expect(await findMarkedThread(home, 'nobody', since)).toEqual({ kind: 'absent' });
  });

  it('count only when they took the prompt: one without would be resumed without the task', async () => {
    storeRollout(home, { threadId: A, mark: MARK, lines: [{ type: 'event_msg', payload: { type: 'task_started' } }] });
    expect(await findMarkedThread(home, MARK, 0)).toEqual({ kind: 'without_prompt', threadId: A });
  });

  it('are named when they are empty, because Codex resumes none of those', async () => {
    storeRollout(home, { threadId: A });
    expect(await findMarkedThread(home, MARK, 0)).toEqual({ kind: 'empty', threadIds: [A] });
  });

  it('are not looked into when they are older than the run, torn, or no rollouts', async () => {
    const old = storeRollout(home, { threadId: A, mark: MARK, lines: [prompt()] });
    utimesSync(old, 1_000, 1_000);
    expect(await findMarkedThread(home, MARK, 2_000_000)).toEqual({ kind: 'absent' });
    utimesSync(old, 3_000, 3_000);
    expect(await findMarkedThread(home, MARK, 2_000_000)).toMatchObject({ kind: 'found' });
    truncateSync(old, 500);
    writeFileSync(join(home, 'sessions/2026/11/29/rollout-of-nobody.jsonl'), 'x');
    mkdirSync(join(home, `sessions/2026/11/29/rollout-x-${B}.jsonl`));
    expect(await findMarkedThread(home, MARK, 0)).toEqual({ kind: 'absent' });
  });
});
