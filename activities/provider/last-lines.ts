import { open } from 'node:fs/promises';

const TAIL_BYTES = 64 * 1024;

/** The last lines of a file, of its last 64 KiB; none when it cannot be read. */
export async function lastLines(path: string, count: number): Promise<string[]> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(size, TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
      // The first is the end of a line that began before.
      return (length < size ? lines.slice(1) : lines).filter((line) => line.trim() !== '').slice(-count);
    } finally {
      await file.close();
    }
  } catch {
    return [];
  }
}
