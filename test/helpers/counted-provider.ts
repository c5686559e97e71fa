import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { leadersOf, markedWith, type SeenProcess } from './outside-view';

/** One start of a provider, as it wrote it down by itself. */
export interface ProviderStart {
  readonly attemptId: string;
  readonly pid: number;
  /** The thread that it was to go on in, or that it made; `-` while only the real provider knows. */
  readonly thread: string;
}

/**
 * A provider that writes down each of its starts by itself, so that nothing of ours counts them. It prints events
 * slowly until it is released, and then ends well. It goes on in the thread that it is asked for, else in a new one.
 * With the path of a real provider it only counts, and becomes that one.
 *
 * Each holds a lock on its workspace, and on the thread that it is asked for, as long as it or a command of its lives;
 * one that finds a lock taken writes that down too.
 */
export class CountedProvider {
  readonly program: string;
  private readonly notesFile: string;
  private readonly releaseFile: string;
  private readonly muteFile: string;

  constructor(directory: string, { real }: { real?: string } = {}) {
    this.program = `${directory}/counted-provider`;
    this.notesFile = `${this.program}.notes`;
    this.releaseFile = `${this.program}.release`;
    this.muteFile = `${this.program}.mute`;
    writeFileSync(this.notesFile, '');
    const body = real === undefined ? stub(this.releaseFile, this.muteFile) : `exec '${real}' "$@"\n`;
    const other = real === undefined ? "echo 'codex-cli 0.0.0'; exit 0" : `exec '${real}' "$@"`;
    writeFileSync(this.program, counting({ notes: this.notesFile, other, isStub: real === undefined }) + body);
    chmodSync(this.program, 0o755);
  }

  /** Every start that ever was, in order. */
  allStarts(): ProviderStart[] {
    return this.notes('start').map(([attemptId = '', pid, thread = '']) => ({ attemptId, pid: Number(pid), thread }));
  }

  /** The thread of every start that ever was, in order. */
  starts(): string[] {
    return this.allStarts().map(({ thread }) => thread);
  }

  /** Starts beside a living one: the attempt, and what both had (`workspace` or `thread`). */
  doubles(): { attemptId: string; what: string }[] {
    return this.notes('double').map(([attemptId = '', what = '']) => ({ attemptId, what }));
  }

  /** The processes of the stub that live. */
  living(): SeenProcess[] {
    return leadersOf(`${this.program} exec`);
  }

  /** The provider process of an attempt, if it lives; of the real one, too. */
  processOf(attemptId: string): SeenProcess[] {
    const pids = this.allStarts().filter((start) => start.attemptId === attemptId);
    return markedWith(attemptId).filter(({ pid }) => pids.some((start) => start.pid === pid));
  }

  /** Lets the stub end, now and whenever it is started again. */
  release(): void {
    writeFileSync(this.releaseFile, '');
    this.speak();
  }

  /** Holds the stubs that start from now on. */
  hold(): void {
    rmSync(this.releaseFile, { force: true });
  }

  /** Keeps the stubs that start from now on from naming their thread. */
  mute(): void {
    writeFileSync(this.muteFile, '');
  }

  speak(): void {
    if (existsSync(this.muteFile)) rmSync(this.muteFile);
  }

  private notes(kind: string): string[][] {
    const lines = readFileSync(this.notesFile, 'utf8').split('\n');
    return lines.map((line) => line.split(' ')).flatMap(([first, ...rest]) => (first === kind ? [rest] : []));
  }
}

/** The paths are in the text of the program: its environment is an allow-list. */
const counting = ({ notes, other, isStub }: { notes: string; other: string; isStub: boolean }) => `#!/bin/sh
if [ "$1" != exec ]; then ${other}; fi
thread=${isStub ? "$(printf '01a00000-0000-7000-8000-%012d' $$)" : '-'}
exec 8>> '${notes}'."\${PWD##*/}".lock
flock -n 8 || echo "double $PERDURE_ATTEMPT_ID workspace" >> '${notes}'
case " $* " in
  *' resume '*)
    for word in "$@"; do [ "$word" = - ] || thread=$word; done
    exec 9>> '${notes}'."$thread".lock
    flock -n 9 || echo "double $PERDURE_ATTEMPT_ID thread" >> '${notes}'
    ;;
esac
echo "start $PERDURE_ATTEMPT_ID $$ $thread" >> '${notes}'
`;

const stub = (release: string, mute: string) => `
cat > /dev/null 8>&- 9>&-
while [ -e '${mute}' ]; do sleep 0.05 8>&- 9>&-; done
echo '{"type":"thread.started","thread_id":"'$thread'"}'
echo '{"type":"turn.started"}'
step=0
while [ ! -e '${release}' ]; do
  step=$((step + 1))
  echo '{"type":"item.completed","item":{"id":"'$step'","type":"agent_message","text":"step '$step'"}}'
  sleep 0.2 8>&- 9>&-
done
echo '{"type":"item.completed","item":{"id":"end","type":"agent_message","text":"finished"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":10}}'
`;
