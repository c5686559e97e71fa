import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readExit } from '../../../activities/provider/run-directory';
import { createProviderHost } from '../../helpers/provider-host';
import { prepareRun, startRunner } from '../../helpers/runner-process';

describe('a provider that cannot be started', () => {
  const host = createProviderHost();
  afterAll(() => host.dispose());

  const file = (name: string, content: string, mode: number): string => {
    const path = join(host.workspace, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };
  const folder = (): string => {
    mkdirSync(join(host.workspace, 'folder'));
    return join(host.workspace, 'folder');
  };

  it.each([
    ['ENOENT', 'a missing program', () => ({ command: '/nowhere/codex' }), 'command'],
    ['EACCES', 'a file that is not executable', () => ({ command: file('plain', '#!/bin/sh\n', 0o600) }), 'command'],
    ['ENOEXEC', 'a file that is no program', () => ({ command: file('text', 'rm -rf x\n', 0o700) }), 'command'],
    ['EISDIR', 'a directory', () => ({ command: folder() }), 'command'],
    [
      'ENOENT',
      'a script without its interpreter',
      () => ({ command: file('lost', '#!/nowhere/sh\n', 0o700) }),
      'command',
    ],
    ['E2BIG', 'an argument that is too long', () => ({ argv: ['x'.repeat(3_000_000)] }), 'command'],
    ['ENOENT', 'a missing workspace', () => ({ cwd: '/nowhere' }), 'workspace'],
    ['ENOTDIR', 'a workspace that is a file', () => ({ cwd: file('cwd', '', 0o600) }), 'workspace'],
  ] as const)('ends with %s for %s (CX-23)', async (...[code, , exact, subject]) => {
    const paths = prepareRun(host, [], exact());
    expect(await startRunner(host, paths).ended).toBe(0);
    expect(readExit(paths)).toMatchObject({ value: { code: null, signal: null, spawnError: { code, subject } } });
    expect(host.agentLog()).toEqual([]);
  });
});
