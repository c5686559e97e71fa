import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunOrder } from '../../../contract/activities';
import { workingDirectory } from '../../../activities/provider/working-directory';

let directory: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-direct-')));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const made: string[] = [];
const workspaces = {
  ensure: ({ taskId }: { taskId: string }) => {
    made.push(taskId);
    return Promise.resolve('/worktree');
  },
  digestOf: () => Promise.resolve(null),
};
const orderOf = (repository: string | null, workspace?: 'repository') =>
  ({ task: { tenantId: 'default', taskId: 'T' }, repository, workspace }) as RunOrder;

describe('the working directory of an attempt', () => {
  it('is the repository itself where the order says so, and no worktree is made (DT-8)', async () => {
    const repository = join(directory, 'repository');
    mkdirSync(repository);
    symlinkSync(repository, join(directory, 'link'));
    expect(await workingDirectory(workspaces, orderOf(join(directory, 'link'), 'repository'))).toBe(repository);
    expect(made).toEqual([]);
  });

  it('is the worktree of every other order, old ones included', async () => {
    expect(await workingDirectory(workspaces, orderOf('/repository'))).toBe('/worktree');
    expect(made).toEqual(['T']);
  });

  it('that is gone, is a file or was never named refuses the run (DT-4)', async () => {
    writeFileSync(join(directory, 'file'), '');
    for (const name of [join(directory, 'gone'), join(directory, 'file'), join(directory, 'file', 'x'), null]) {
      await expect(workingDirectory(workspaces, orderOf(name, 'repository'))).rejects.toMatchObject({
        code: 'workspace_missing',
      });
    }
  });
});
