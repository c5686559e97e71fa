import { spawn } from 'node:child_process';
import { familyOf, markedProcesses } from '../../../activities/provider/marked-processes';
import {
  identityOf,
  isSameProcess,
  ownIdentity,
  type ProcessIdentity,
} from '../../../activities/provider/process-identity';
import { endMarked, signalProcess } from '../../../activities/provider/process-ending';
import { until } from '../../helpers/until';

function sleeper(mark: Record<string, string> = {}): ProcessIdentity {
  const { pid } = spawn('sleep', ['600'], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], ...mark },
  });
  const identity = pid === undefined ? undefined : identityOf(pid);
  if (identity === undefined) throw new Error('no sleeper');
  return identity;
}

describe('identity of a process', () => {
  it('tells alive from dead, and a used-again pid from the process before (DW-16)', async () => {
    const own = ownIdentity();
    expect(isSameProcess(own)).toBe('alive');
    expect(isSameProcess({ ...own, startTime: '1' })).toBe('dead');
    expect(isSameProcess({ ...own, bootId: 'another boot' })).toBe('dead');
    expect(isSameProcess({ ...own, namespace: 'another container' })).toBe('unknown');
    const child = sleeper();
    expect(signalProcess({ ...child, startTime: '1' }, 'SIGKILL')).toBe(false);
    expect(isSameProcess(child)).toBe('alive');
    expect(signalProcess(child, 'SIGKILL')).toBe(true);
    await until(() => isSameProcess(child) === 'dead');
  });
});

describe('marked processes', () => {
  it('are those that hold exactly the name and value (DF-17)', async () => {
    const mark = `mark-${String(process.pid)}`;
    const marked = sleeper({ PERDURE_ATTEMPT_ID: mark });
    const others = [sleeper({ PERDURE_ATTEMPT_ID: `${mark}0` }), sleeper({ X_PERDURE_ATTEMPT_ID: mark })];
    try {
      await until(() => markedProcesses('PERDURE_ATTEMPT_ID', mark).length > 0);
      expect(markedProcesses('PERDURE_ATTEMPT_ID', mark)).toEqual([marked]);
      expect(await endMarked(mark)).toBe(1);
      await until(() => isSameProcess(marked) === 'dead');
      expect(others.map(isSameProcess)).toEqual(['alive', 'alive']);
    } finally {
      for (const process of [marked, ...others]) signalProcess(process, 'SIGKILL');
    }
  });

  it('are no members of a group whose number was used again', () => {
    const child = sleeper();
    try {
      expect(familyOf(child)).toEqual([child]);
      expect(familyOf({ ...child, startTime: '1' })).toEqual([]);
    } finally {
      signalProcess(child, 'SIGKILL');
    }
  });
});
