// node output-reader.js KIND MEGABYTES: reads so much output of a kind, with the product's reader and with a bare line
// splitter by turns, and prints what that took as one JSON line.
import { readFileSync } from 'node:fs';
import { platform } from 'node:process';
import { EventReader } from '../activities/provider/event-reader';
import { noEvents, reduceLine } from '../activities/provider/event-reducer';
import { chunksOf, isLoadKind, type LoadKind } from './output/load';

const MB = 1_000_000;
const LF = 0x0a;

/** What one process measured. */
export interface ReaderFigures {
  /** Megabytes for each second of processor time. */
  readonly product: number;
  /** The same for a splitter that makes a text of each line and does nothing with it. */
  readonly bare: number;
  /** Highest resident memory, and that before anything was read, with the output already made; MB. */
  readonly peak: number;
  readonly before: number;
  readonly megabytes: number;
  readonly events: number;
  readonly oversized: number;
}

function processorSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Highest resident memory of this program, MB. */
function highestMemory(): number {
  // On Linux, maxRSS also counts the parent's memory, which this process had for the moment between fork and exec.
  const own = platform === 'linux' ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) : null;
  return (Number(own?.[1] ?? process.resourceUsage().maxRSS) * 1_024) / MB;
}

/** The least that reading lines can be: no limit, no event. */
function splitBarely(chunks: Iterable<Buffer>): number {
  let lines = 0;
  let rest = '';
  for (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      const line = rest + chunk.toString('utf8', start, end);
      if (line.length > 0) lines += 1;
      rest = '';
      start = end + 1;
    }
    rest += chunk.toString('utf8', start);
  }
  return lines;
}

function measure(kind: LoadKind, megabytes: number): ReaderFigures {
  const load = chunksOf(kind, megabytes * MB);
  const before = process.memoryUsage().rss / MB;
  const events = noEvents();
  const reader = new EventReader((line) => {
    reduceLine(events, line);
  });
  const product = processorSeconds(() => {
    for (const chunk of load.chunks()) reader.push(chunk);
    reader.end();
  });
  // Taken before the splitter, which holds a line however long it is.
  const peak = highestMemory();
  const part = chunksOf(kind, Math.min(megabytes, 200) * MB);
  const bare = processorSeconds(() => {
    splitBarely(part.chunks());
  });
  const read = load.size / MB;
  return {
    product: read / product,
    bare: part.size / MB / bare,
    peak,
    before,
    megabytes: read,
    events: events.events,
    oversized: reader.oversized,
  };
}

const [, , kind = '', megabytes] = process.argv;
if (!isLoadKind(kind)) {
  process.stderr.write('usage: node output-reader.js KIND MEGABYTES\n');
  process.exit(2);
}
process.stdout.write(`${JSON.stringify(measure(kind, Number(megabytes)))}\n`);
