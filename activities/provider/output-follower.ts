import { open, stat, type FileHandle } from 'node:fs/promises';
import { EventReader } from './event-reader';
import { noEvents, reduceLine, type RunEvents } from './event-reducer';
import { errorCode } from './thrown';

const CHUNK = 256 * 1024;

/** Reads a provider's growing output file from its beginning into what its events say. */
export class OutputFollower {
  readonly events: RunEvents = noEvents();
  offset = 0;
  /** Bytes up to and with the event that ended the turn. */
  resultAt = 0;
  private activeAt: number | null = null;
  private workBytes = 0;
  private noticeBytes = 0;
  private readonly reader = new EventReader((line, start, end) => {
    const { errors, terminal } = this.events;
    reduceLine(this.events, line);
    if (this.events.terminal !== terminal) this.resultAt = end;
    if (this.events.errors > errors) this.noticeBytes += end - start;
  });
  private file: FileHandle | undefined;
  private buffer: Buffer | undefined;

  constructor(private readonly path: string) {}

  get oversized(): number {
    return this.reader.oversized;
  }

  /** Reads up to the present end, at most `limit` bytes; true when it came to the end. */
  async read(limit: number): Promise<boolean> {
    if ((await this.sizeBehind()) <= 0) return true;
    this.file ??= await open(this.path, 'r');
    this.buffer ??= Buffer.allocUnsafe(CHUNK);
    for (let taken = 0; taken < limit;) {
      const { bytesRead } = await this.file.read(this.buffer, 0, CHUNK, this.offset);
      if (bytesRead === 0) {
        this.buffer = undefined;
        return true;
      }
      this.offset += bytesRead;
      taken += bytesRead;
      this.reader.push(this.buffer.subarray(0, bytesRead));
    }
    return false;
  }

  /** Takes a last line without an end, when all is read and the provider has ended. */
  finish(): void {
    this.reader.end();
  }

  async close(): Promise<void> {
    await this.file?.close();
    this.file = undefined;
  }

  /**
   * When the provider last printed something that shows work, in epoch milliseconds; null when it never did. Notices
   * of a lost connection show none, but text that is no whole line yet does.
   */
  async lastActiveAt(): Promise<number | null> {
    if (this.offset === 0) return null;
    const workBytes = this.offset - this.noticeBytes;
    if (workBytes !== this.workBytes) {
      this.workBytes = workBytes;
      this.activeAt = (await stat(this.path)).mtimeMs;
    }
    return this.activeAt;
  }

  private async sizeBehind(): Promise<number> {
    try {
      return (await stat(this.path)).size - this.offset;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return 0;
      throw error;
    }
  }
}
