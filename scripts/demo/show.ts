import { oneLine } from '../../cli/escape';
import { styleFor } from '../../cli/output';

const INDENT = '  ';

/** Prints the demo: acts, lines, and claims with what was found when each was checked. */
export class Show {
  private readonly style = styleFor(process.stdout);
  private readonly began = performance.now();
  private acts = 0;
  private failed = 0;

  get hasFailed(): boolean {
    return this.failed > 0;
  }

  act(title: string): void {
    this.acts += 1;
    const seconds = ((performance.now() - this.began) / 1_000).toFixed(1);
    this.print('');
    this.print(`${this.style.bold(`${String(this.acts)}. ${title}`)} ${this.style.dim(`(${seconds} s)`)}`);
  }

  line(text: string): void {
    this.print(`${INDENT}${oneLine(text)}`);
  }

  /** A line of a program that runs meanwhile. */
  live(source: string, text: string): void {
    this.print(`${INDENT}${this.style.dim(`${source} |`)} ${oneLine(text)}`);
  }

  /** Says a claim with what a check of it found. */
  check(claim: string, isTrue: boolean): void {
    if (!isTrue) this.failed += 1;
    const mark = isTrue ? this.style.green('✓') : this.style.red('✗ NOT TRUE:');
    this.print(`${INDENT}${mark} ${oneLine(claim)}`);
  }

  private print(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}
