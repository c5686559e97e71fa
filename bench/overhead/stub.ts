import { readFile, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { z } from 'zod';

/** The line of a prompt that makes the stub run until it is stopped. */
export const HOLD = '@hold';
/** The line that makes it wait until its gate is opened. */
export const GATE = '@gate';
/** The line that makes it fail. A run that goes on in its thread is not told the description again, so it succeeds. */
export const FAIL = '@fail';

/** Stamps the moment before anything else, then does what a provider must: name its thread, say something, end. */
const STUB = `#!/bin/bash
at=$EPOCHREALTIME
id=$PERDURE_ATTEMPT_ID
printf '{"type":"bench.stamp","at":%s}\\n' "$at"
thread=$id
case " $* " in *' resume '*) thread=\${@: -2:1} ;; esac
printf '{"type":"thread.started","thread_id":"%s"}\\n' "$thread"
IFS= read -r -d '' prompt
case "$prompt" in
*${HOLD}*) exec sleep 3600 ;;
*${GATE}*) until [ -e "\${0%/*}/$id.open" ]; do sleep 0.05; done ;;
*${FAIL}*)
  printf '{"type":"turn.failed","error":{"message":"it was to fail"}}\\n'
  exit 1
  ;;
esac
printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"done"}}\\n'
printf '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1}}\\n'
`;

/** Writes the smallest provider there is; answers its path. */
export async function writeStub(folder: string): Promise<string> {
  const path = join(folder, 'stub-provider');
  await writeFile(path, STUB, { mode: 0o755 });
  return path;
}

/** Lets an attempt go on that waits at its gate. */
export const openGate = (folder: string, attemptId: string): Promise<void> =>
  writeFile(join(folder, `${attemptId}.open`), '');

const stampSchema = z.object({ type: z.literal('bench.stamp'), at: z.number() });

/** Waits for the stamp of an attempt: the moment of the provider's first instruction. */
export async function stampOf(directory: string, signal: AbortSignal): Promise<number> {
  for (;;) {
    signal.throwIfAborted();
    const text = await readFile(join(directory, 'stdout.jsonl'), 'utf8').catch(() => '');
    const end = text.indexOf('\n');
    if (end > 0) return stampSchema.parse(JSON.parse(text.slice(0, end))).at * 1_000;
    await sleep(5);
  }
}
