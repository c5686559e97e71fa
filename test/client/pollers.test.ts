import { spawnSync } from 'node:child_process';
import { isGone } from '../../client/pollers';

/** A process id that was just in use and is so no more. */
const { pid: deadPid } = spawnSync(process.execPath, ['--version']);

describe('isGone', () => {
  it.each(['perdure-host', 'perdure-orchestrator'])('sees that a dead %s of this host polls no more', (role) => {
    expect(isGone(`${role} ${String(deadPid)}@here`, 'here')).toBe(true);
    expect(isGone(`${role} ${String(process.pid)}@here`, 'here')).toBe(false);
  });

  it('cannot judge a worker of another host, nor one of another kind', () => {
    expect(isGone(`perdure-host ${String(deadPid)}@there`, 'here')).toBe(false);
    expect(isGone(`${String(deadPid)}@here`, 'here')).toBe(false);
  });
});
