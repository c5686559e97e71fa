/** Longest line that is looked at; a longer one is dropped whole, so memory stays bounded. */
export const MAX_LINE = 8 * 1024 * 1024;

const LF = 0x0a;
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Cuts bytes into lines, at LF and at nothing else, whatever the borders of the chunks are. */
export class EventReader {
  /** Lines that were longer than the limit. */
  oversized = 0;
  private parts: Buffer[] = [];
  private held = 0;
  private isDropping = false;
  private isFirst = true;

  constructor(
    private readonly onLine: (line: string) => void,
    private readonly maxLine = MAX_LINE,
  ) {}

  /** Takes the next bytes; keeps a copy only of a line that is not complete yet. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      this.hold(chunk.subarray(start, end), false);
      this.finishLine();
      start = end + 1;
    }
    if (start < chunk.length) this.hold(chunk.subarray(start), true);
  }

  /** Takes a last line that has no line end. */
  end(): void {
    if (this.held > 0 || this.isDropping) this.finishLine();
  }

  private hold(bytes: Buffer, isKept: boolean): void {
    if (this.isDropping || bytes.length === 0) return;
    this.held += bytes.length;
    if (this.held > this.maxLine) {
      this.isDropping = true;
      this.parts = [];
      return;
    }
    // The caller reads into the same memory again.
    this.parts.push(isKept ? Buffer.from(bytes) : bytes);
  }

  private finishLine(): void {
    const { isDropping, parts, isFirst } = this;
    this.parts = [];
    this.held = 0;
    this.isDropping = false;
    this.isFirst = false;
    if (isDropping) {
      this.oversized += 1;
      return;
    }
    const [only] = parts;
    if (only === undefined) return;
    const whole = parts.length === 1 ? only : Buffer.concat(parts);
    const line = isFirst && whole.subarray(0, 3).equals(BOM) ? whole.subarray(3) : whole;
    this.onLine(line.toString('utf8'));
  }
}
