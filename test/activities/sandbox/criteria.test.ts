import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { workMark } from '../../../activities/sandbox/left-overs';
import { ATTEMPT_MARK } from '../../../contract/marks';
import { checkCriterion } from '../../../activities/sandbox/criteria';

describe('an acceptance criterion', () => {
  const check = (command: string) => checkCriterion(command, tmpdir());

  it('is met by a command that exits 0 in the workspace, whatever it prints (CK-14)', async () => {
    expect(await check('echo hello; pwd')).toMatchObject({
      met: true,
      exitCode: 0,
      output: expect.stringContaining('hello'),
    });
  });

  it('is not met by another exit code or a signal, and says which (CK-15)', async () => {
    expect(await check('echo why >&2; exit 3')).toMatchObject({ met: false, exitCode: 3, output: 'why\n' });
    expect(await check('kill -9 $$')).toMatchObject({ met: false, exitCode: null, output: 'ended by SIGKILL' });
  });

  it('keeps the end of a long output, without control characters (CK-15)', async () => {
    const { output, digest } = await check("head -c 300000 /dev/zero | tr '\\0' x; printf '\\033[2Jend'");
    const whole = createHash('sha256')
      .update(`${'x'.repeat(300_000)}\u001b[2Jend`)
      .digest('hex');
    expect(digest).toBe(`sha256:${whole}`);
    expect(output).toHaveLength(1_000);
    expect(output).toMatch(/x \[2Jend$/);
  });

  it('does not wait for what it left in the background (P03)', async () => {
    expect(await check('sleep 600 & echo done')).toMatchObject({ met: true });
    expect(await check('setsid sleep 3 & echo done')).toMatchObject({ met: true });
  });

  it('gets no secret of the worker', async () => {
    process.env.FOO_SECRET = 's3cr3t';
    expect((await check('env')).output).not.toContain('s3cr3t');
    delete process.env.FOO_SECRET;
  });

  it('ends the same check of a worker that was killed, and no other one', async () => {
    const leave = (command: string) => {
      const env = { PATH: process.env.PATH, [ATTEMPT_MARK]: workMark('check', tmpdir(), command) };
      return spawn('sleep', ['600'], { stdio: 'ignore', env });
    };
    const [same, other] = [leave('echo again'), leave('echo other')];
    const ended = new Promise((resolve) => same.once('exit', resolve));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await check('echo again')).toMatchObject({ met: true });
    await ended;
    expect(other.signalCode).toBeNull();
    other.kill('SIGKILL');
  });

  it('ends when nobody wants its result any more', async () => {
    const ending = new AbortController();
    const result = checkCriterion('sleep 600', tmpdir(), ending.signal);
    const abort = setInterval(() => {
      ending.abort();
    });
    expect(await result).toMatchObject({ met: false, output: 'ended by SIGKILL' });
    clearInterval(abort);
  });
});
