import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { leadersOf, type SeenProcess } from './outside-view';

/**
 * A provider that writes down each of its starts by itself, so that nothing of ours counts them. It prints events
 * slowly until it is released, and then ends well. It goes on in the thread that it is asked for, else in a new one.
 */
export class CountedProvider {
  readonly program: string;
  private readonly startsFile: string;
  private readonly releaseFile: string;

  constructor(directory: string) {
    this.program = `${directory}/counted-provider`;
    this.startsFile = `${this.program}.starts`;
    this.releaseFile = `${this.program}.release`;
    writeFileSync(this.startsFile, '');
    writeFileSync(this.program, SCRIPT(this.startsFile, this.releaseFile));
    chmodSync(this.program, 0o755);
  }

  /** The thread of every start that ever was, in order. */
  starts(): string[] {
    const lines = readFileSync(this.startsFile, 'utf8').split('\n');
    return lines.filter((line) => line !== '');
  }

  /** The processes of it that live. */
  living(): SeenProcess[] {
    return leadersOf(`${this.program} exec`);
  }

  /** Lets it end, now and whenever it is started again. */
  release(): void {
    writeFileSync(this.releaseFile, '');
  }
}

/** The paths are in the text of the program: its environment is an allow-list. */
const SCRIPT = (starts: string, release: string) => `#!/bin/sh
if [ "$1" != exec ]; then echo 'codex-cli 0.0.0'; exit 0; fi
thread=$(printf '01a00000-0000-7000-8000-%012d' $$)
case " $* " in
  *' resume '*) for word in "$@"; do [ "$word" = - ] || thread=$word; done ;;
esac
echo "$thread" >> '${starts}'
cat > /dev/null
echo '{"type":"thread.started","thread_id":"'$thread'"}'
echo '{"type":"turn.started"}'
step=0
while [ ! -e '${release}' ]; do
  step=$((step + 1))
  echo '{"type":"item.completed","item":{"id":"'$step'","type":"agent_message","text":"step '$step'"}}'
  sleep 0.2
done
echo '{"type":"item.completed","item":{"id":"end","type":"agent_message","text":"finished"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":10}}'
`;
