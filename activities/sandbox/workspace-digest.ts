import { spawn } from 'node:child_process';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { readingGit } from '../provider/reading-git';

/** Bytes of new files that are read; of the others their size and time of change stand for what they hold. */
const READ_BYTES = 256 * 1024 * 1024;

/**
 * A digest of what a workspace holds (CK-21): commit, branch, changes of tracked files and submodules, new files by
 * content. Ignored files do not count. Null when git cannot tell.
 */
export async function workspaceDigest(directory: string): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await feed(hash, directory, 'rev-parse', '--verify', '--quiet', 'HEAD');
    await feed(hash, directory, 'symbolic-ref', '--quiet', 'HEAD').catch(() => undefined); // detached
    await feed(hash, directory, 'diff', 'HEAD', '--binary', '--no-ext-diff', '--no-textconv');
    await feedNewFiles(hash, directory);
    return hash.digest('hex');
  } catch {
    return null;
  }
}

async function feedNewFiles(hash: Hash, directory: string): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of git(directory, 'ls-files', '--others', '--exclude-standard', '-z')) chunks.push(chunk);
  let room = READ_BYTES;
  for (const name of Buffer.concat(chunks).toString('utf8').split('\0').filter(Boolean).sort()) {
    const path = join(directory, name);
    const stat = await lstat(path);
    const { size, mtimeMs } = stat;
    hash.update(`\0${name}\0`);
    if (stat.isSymbolicLink()) hash.update(await readlink(path));
    else if (!stat.isFile() || size > room) hash.update(`${String(size)} ${String(mtimeMs)}`);
    else {
      room -= size;
      await pipeline(createReadStream(path), hash, { end: false });
    }
  }
}

async function feed(hash: Hash, directory: string, ...args: string[]): Promise<void> {
  for await (const chunk of git(directory, ...args)) hash.update(chunk);
  hash.update('\0');
}

/** Streams what git prints; throws when it fails. */
async function* git(directory: string, ...args: string[]): AsyncGenerator<Buffer> {
  const reading = readingGit(directory, ...args);
  const child = spawn('git', reading.args, { ...reading.options, stdio: ['ignore', 'pipe', 'ignore'] });
  const closed = new Promise<number | null>((resolve) => {
    child
      .once('error', () => {
        resolve(null);
      })
      .once('close', resolve);
  });
  for await (const chunk of child.stdout) yield chunk as Buffer;
  const code = await closed;
  if (code !== 0) throw new Error(`git ${args[0] ?? ''} ended with exit code ${String(code)}`);
}
