import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { choosePort } from '../../../cli/up/ports';

const wish = { name: 'web UI', flag: '--ui-port' };
let taken: Server;
let port: number;
beforeEach(async () => {
  taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  port = address !== null && typeof address === 'object' ? address.port : 0;
});
afterEach(() => taken.close());

describe('choosePort', () => {
  it('takes another port than a usual one that is taken, and says so', async () => {
    const notes: string[] = [];
    const chosen = await choosePort({ ...wish, wanted: undefined, usual: port }, (text) => notes.push(text));
    expect(chosen).not.toBe(port);
    expect(notes).toEqual([`port ${String(port)} is taken; the web UI uses ${String(chosen)}`]);
  });

  it('refuses a taken port that was asked for', async () => {
    await expect(choosePort({ ...wish, wanted: port, usual: 8233 }, () => undefined)).rejects.toThrow('is taken');
  });

  it('takes any free port for 0', async () => {
    await expect(choosePort({ ...wish, wanted: 0, usual: port }, () => undefined)).resolves.toBeGreaterThan(0);
  });
});
