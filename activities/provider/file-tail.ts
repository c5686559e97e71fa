import { open } from 'node:fs/promises';

const TAIL_BYTES = 64 * 1024;

/** Last 64 KiB of a file as text, and whether that is all of it; empty when it cannot be read. */
export async function fileTail(path: string): Promise<{ text: string; isWhole: boolean }> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(size, TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return { text: buffer.toString('utf8', 0, bytesRead), isWhole: length === size };
    } finally {
      await file.close();
    }
  } catch {
    return { text: '', isWhole: true };
  }
}

/** The last lines of a file, of its last 64 KiB; none when it cannot be read. */
export async function lastLines(path: string, count: number): Promise<string[]> {
  const { text, isWhole } = await fileTail(path);
  const lines = text.split('\n');
  // The first is the end of a line that began before.
  return (isWhole ? lines : lines.slice(1)).filter((line) => line.trim() !== '').slice(-count);
}
