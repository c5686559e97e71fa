import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../helpers/root';

/**
 * A temporary folder with a reaper beside it: when it is closed, or when this process ends in whatever way, every
 * process that was started on the folder is ended and the folder removed.
 */
export function openWorkshop(): { folder: string; close: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-matrix-'));
  const entry = join(root, 'dist', 'test', 'chaos', 'matrix', 'reaper.js');
  const reaper = spawn(process.execPath, [entry, folder], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(reaper, 'exit');
  return {
    folder,
    close: async () => {
      reaper.stdin.end();
      await ended;
    },
  };
}
