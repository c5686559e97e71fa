/** Longest line that is looked at; a longer one is dropped whole, so memory stays bounded. */
export const MAX_LINE = 8 * 1024 * 1024;

const LF = 0x0a;
const BOM = '\uFEFF';
const FIRST_CAPACITY = 64 * 1024;

/** Cuts bytes into lines, at LF and at nothing else, whatever the borders of the chunks are. */
export class EventReader {
  /** Lines that were longer than the limit. */
  oversized = 0;
  /** Beginning of a line that is not complete yet: the first `held` bytes. */
  private rest = Buffer.alloc(0);
  private held = 0;
  private isDropping = false;
  private isFirst = true;
  private taken = 0;
  private lineStart = 0;

  /** `onLine` gets each line, and at which bytes it begins and ends, its line end included. */
  constructor(
    private readonly onLine: (line: string, start: number, end: number) => void,
    private readonly maxLine = MAX_LINE,
  ) {}

  /** Takes the next bytes; keeps a copy only of a line that is not complete yet. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.finishLine(chunk, start, end);
      start = end + 1;
    }
    if (start < chunk.length) this.hold(chunk, start, chunk.length);
    this.taken += chunk.length;
  }

  /** Takes a last line that has no line end. */
  end(): void {
    if (this.held > 0 || this.isDropping) this.finishLine(this.rest, 0, -1);
  }

  private hold(chunk: Buffer, start: number, end: number): void {
    const length = this.held + end - start;
    if (this.isDropping || length > this.maxLine) {
      this.isDropping = true;
      this.forget();
      return;
    }
    if (length > this.rest.length) this.grow(length);
    chunk.copy(this.rest, this.held, start, end);
    this.held = length;
  }

  /** One buffer that doubles, not a list of parts: a line may come byte by byte. */
  private grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(length, Math.min(this.maxLine, this.rest.length * 2), FIRST_CAPACITY));
    this.rest.copy(larger, 0, 0, this.held);
    this.rest = larger;
  }

  private forget(): void {
    this.held = 0;
    if (this.rest.length > FIRST_CAPACITY) this.rest = Buffer.alloc(0);
  }

  /** Takes the line that ends at `end` of a chunk, or, without one, at the end of what is held. */
  private finishLine(chunk: Buffer, start: number, end: number): void {
    const isWhole = this.held === 0 && !this.isDropping && end - start <= this.maxLine;
    if (!isWhole && end > start) this.hold(chunk, start, end);
    const { isDropping, isFirst, held, lineStart } = this;
    this.isDropping = false;
    this.lineStart = this.taken + end + 1;
    this.isFirst = false;
    if (isDropping) {
      this.oversized += 1;
      return;
    }
    const line = isWhole ? chunk.toString('utf8', start, end) : this.rest.toString('utf8', 0, held);
    this.forget();
    if (line === '') return;
    this.onLine(isFirst && line.startsWith(BOM) ? line.slice(1) : line, lineStart, this.lineStart);
  }
}
