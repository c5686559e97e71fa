import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveEvidence } from '../../../activities/provider/save-evidence';
import { runPaths, type RunRequest } from '../../../activities/provider/run-directory';
import type { ProviderDeps } from '../../../activities/provider/provider-deps';

const attemptId = '0199aaaa-bbbb-4ccc-8ddd-000000000001';
const task = { tenantId: 'default', taskId: 'T' };
const SECRET = 'sk-planted-4711-secret';

let home: string;
let workspace: string;
let deps: ProviderDeps;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-evidence-'));
  workspace = join(home, 'workspace');
  mkdirSync(workspace);
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: workspace, stdio: 'pipe' });
  git('init', '-q');
  writeFileSync(join(workspace, 'a.txt'), 'one\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
  deps = { home, hostId: 'h', env: { CODEX_API_KEY: SECRET } } as unknown as ProviderDeps;
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const item = (text: string) =>
  JSON.stringify({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } });

describe('the evidence of a lost attempt', () => {
  it('has its last words and what it changed, without secrets and control characters (RC-13, GU-10)', async () => {
    const paths = runPaths(home, attemptId);
    mkdirSync(paths.directory, { recursive: true });
    const request: RunRequest = {
      attemptId,
      command: 'codex',
      argv: [],
      cwd: workspace,
      codexHome: home,
      cliVersion: null,
      timeMs: 1,
      outputBytes: 1,
      escalation: [1, 1],
    };
    writeFileSync(paths.request, JSON.stringify(request));
    const tool = { id: 't', type: 'command_execution', command: 'make', status: 'in_progress' };
    const lines = [item(`half \u001b[2J of it ${SECRET}`), JSON.stringify({ type: 'item.started', item: tool })];
    writeFileSync(paths.stdout, `${lines.join('\n')}\n`);
    writeFileSync(join(workspace, 'a.txt'), `two ${SECRET}\n`);
    writeFileSync(join(workspace, 'b.txt'), 'new\n');
    const snapshot = await saveEvidence(deps, { attemptId, task });
    expect(snapshot).toMatchObject({ openTools: 1, workspacePath: workspace, directory: paths.directory });
    expect(snapshot.lastMessage).toMatch(/^half {2}\[2J of it \[redacted\]$/);
    expect(snapshot.events).toHaveLength(2);
    expect(snapshot.changes).toEqual(['M a.txt', '?? b.txt']);
    expect(snapshot.diff).toContain('+two [redacted]');
    expect(JSON.stringify(snapshot)).not.toContain(SECRET);
    expect(readFileSync(paths.lostDiff, 'utf8')).toContain('+two');
  });

  it('says that there is nothing where nothing is left', async () => {
    const snapshot = await saveEvidence(deps, { attemptId, task });
    expect(snapshot).toMatchObject({
      lastMessage: null,
      events: [],
      openTools: 0,
      changes: [],
      diff: '',
      workspacePath: null,
    });
  });
});
