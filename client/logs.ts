import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Outcome } from '../contract/failures';
import { errnoOf, outcomeOf, refuse } from './outcome';
import { readRecord } from './record';
import { findRunFiles, isThere } from './run-files';
import type { Session } from './session';

/** Where the log of an attempt is on this host. */
export interface AttemptLog {
  readonly taskId: string;
  readonly attemptId: string;
  readonly directory: string;
  /** File of the provider's events, one JSON object a line. */
  readonly path: string;
}

/** Characters of one line that are kept; providers print whole command outputs on one. */
const LINE_CHARACTERS = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;
const LOOK_MS = 250;

/** Finds the log of a task's last attempt, or of a given one, on this host. */
export async function findLog(session: Session, taskId: string, attemptId?: string): Promise<Outcome<AttemptLog>> {
  return outcomeOf(async () => {
    if (attemptId !== undefined && !z.uuid().safeParse(attemptId).success) {
      refuse('INVALID_ARGUMENT', 'an attempt id is a UUID; `perdure audit` lists them');
    }
    const { attempts } = await readRecord(session, taskId);
    const found = attemptId === undefined ? attempts.at(-1) : attempts.find((each) => each.attemptId === attemptId);
    if (found === undefined) {
      const what = attemptId === undefined ? 'no attempt yet' : `no attempt ${attemptId}`;
      return refuse('INVALID_ARGUMENT', `task ${taskId} has ${what}`, {
        hint: 'See `perdure audit` for its attempts.',
      });
    }
    return { taskId, ...(await findRunFiles(session, found, `attempt ${found.attemptId}`)) };
  }, taskId);
}

export interface ReadLogOptions {
  /** Goes on until the attempt has ended. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Reads a log line by line in bounded memory; a line that is too long is cut with a mark. */
export async function* readLog(log: AttemptLog, { follow = false, signal }: ReadLogOptions): AsyncGenerator<string> {
  let file: FileHandle | undefined;
  const lines = new LineSplitter();
  try {
    while (signal?.aborted !== true) {
      // Looked at before the read: what was written before the end is then certainly seen.
      const isOver = !follow || (await isThere(join(log.directory, 'exit.json')));
      file ??= await openLog(log.path);
      if (file !== undefined) yield* newLines(file, lines);
      if (isOver) break;
      await sleep(LOOK_MS, undefined, signal && { signal }).catch(() => undefined);
    }
    const rest = lines.last();
    if (rest !== '') yield rest;
  } finally {
    await file?.close();
  }
}

async function openLog(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function* newLines(file: FileHandle, lines: LineSplitter): AsyncGenerator<string> {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES);
    if (bytesRead === 0) return;
    yield* lines.push(buffer.subarray(0, bytesRead));
  }
}

/** Splits bytes at newlines only, and keeps at most the beginning of a line. */
class LineSplitter {
  private readonly decoder = new StringDecoder('utf8');
  private kept = '';
  private cut = 0;

  *push(bytes: Buffer): Generator<string> {
    const parts = this.decoder.write(bytes).split('\n');
    for (const [index, part] of parts.entries()) {
      if (index > 0) yield this.end();
      const room = LINE_CHARACTERS - this.kept.length;
      this.kept += part.slice(0, room);
      this.cut += Math.max(0, part.length - room);
    }
  }

  /** What is left without a line end, half a character included. */
  last(): string {
    this.kept += this.decoder.end();
    return this.end();
  }

  /** The line up to here; begins the next one. */
  end(): string {
    const line = this.cut === 0 ? this.kept : `${this.kept} [${String(this.cut)} more characters]`;
    this.kept = '';
    this.cut = 0;
    return line.replace(/\r$/, '');
  }
}
