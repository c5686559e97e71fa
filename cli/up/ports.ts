import { createServer } from 'node:net';
import { refuse } from '../../client/outcome';

/** The loopback address that the embedded server listens on. */
export const LOOPBACK = '127.0.0.1';

/** Listens on a port for a moment: the port it got, or undefined when it is taken. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(undefined);
    });
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' ? address?.port : undefined);
      });
    });
  });
}

export interface PortWish {
  /** What the port is for, in words. */
  readonly name: string;
  readonly flag: string;
  /** What the user asked for; 0 is any free port, undefined the usual one. */
  readonly wanted: number | undefined;
  readonly usual: number;
}

/** Chooses a free port. A taken port that the user named is refused; for a taken usual one another is taken. */
export async function choosePort(wish: PortWish, note: (text: string) => void): Promise<number> {
  const { name, flag, wanted, usual } = wish;
  const first = await tryPort(wanted ?? usual);
  if (first !== undefined) return first;
  if (wanted !== undefined) {
    refuse('INVALID_ARGUMENT', `port ${String(wanted)} for the ${name} is taken`, {
      hint: `Name another port, or ${flag} 0 for any free one.`,
    });
  }
  const other = await tryPort(0);
  if (other === undefined) return refuse('INVALID_ARGUMENT', `there is no free port for the ${name}`);
  note(`port ${String(usual)} is taken; the ${name} uses ${String(other)}`);
  return other;
}
