import { createHash } from 'node:crypto';
import { linkSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { RunOrder, RunReport } from '../../contract/activities';
import { createOnce, discard, makePrivateDirectory, readGuarded, replaceFile } from './durable-file';
import { executorState } from './executor-state';
import { readExit, runPaths } from './run-directory';

/** How long an account is left alone whose limit names no end. */
const UNKNOWN_MS = 5 * 60_000;
/** How soon to ask again while another attempt finds out whether the limit is over. */
const PROBE_MS = 30_000;
/** How long an attempt may take until something of it is to be seen. */
const BEGIN_MS = 60_000;

const instant = z.iso.datetime();
const limitSchema = z.object({ codexHome: z.string(), saidAt: instant, until: instant });
const probeSchema = z.object({ attemptId: z.uuid(), at: instant });
type Limit = z.infer<typeof limitSchema>;
type Probe = z.infer<typeof probeSchema>;

const authSchema = z.looseObject({
  OPENAI_API_KEY: z.string().nullish().catch(null),
  tokens: z
    .looseObject({ account_id: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
});

/** A digest of who is logged in in a Codex home; empty where that does not say, or nobody is. */
function loginOf(codexHome: string): string {
  const login = readLogin(codexHome);
  return login === '' ? '' : digestOf(login);
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

function readLogin(codexHome: string): string {
  try {
    const { OPENAI_API_KEY, tokens } = authSchema.parse(JSON.parse(readFileSync(join(codexHome, 'auth.json'), 'utf8')));
    return tokens?.account_id ?? OPENAI_API_KEY ?? '';
  } catch {
    return '';
  }
}

const isLimit = (value: unknown): value is Limit => limitSchema.safeParse(value).success;
const isProbe = (value: unknown): value is Probe => probeSchema.safeParse(value).success;

/** Who uses a Codex home; whoever is logged in there now, where no digest of the login is given. */
export interface Account {
  readonly codexHome: string;
  readonly login?: string | undefined;
}

/**
 * What this host knows of the usage limit of one account, which is a Codex home and who is logged in there: until when it
 * holds, and which attempt tries, alone, whether it is over. Kept under `<home>/accounts`, so that every worker of the
 * host and its successors know it; a file that cannot be read counts as none.
 */
export class AccountLimit {
  private readonly codexHome: string;
  readonly login: string;
  private readonly path: string;
  private readonly probePath: string;

  constructor(
    private readonly home: string,
    { codexHome, login = loginOf(codexHome) }: Account,
    private readonly now: () => number = Date.now,
  ) {
    this.codexHome = codexHome;
    this.login = login;
    const digest = digestOf(login === '' ? codexHome : `${codexHome}\0${login}`);
    this.path = join(home, 'accounts', `${digest}.json`);
    this.probePath = join(home, 'accounts', `${digest}.probe`);
  }

  /** Null when the attempt may start now, else the moment at which to ask again; the caller releases what it was let. */
  admit(attemptId: string): string | null {
    const limit = this.read();
    if (limit === null) return null;
    if (this.isAhead(limit)) return limit.until;
    if (!this.claimProbe(attemptId)) return new Date(this.now() + PROBE_MS).toISOString();
    // The attempt that held the claim before may just have found out.
    const after = this.read();
    if (after !== null && !this.isAhead(after)) return null;
    this.release(attemptId);
    return after === null ? null : after.until;
  }

  /** The model answered an attempt: when that one was to find out, the limit is over. */
  answered(attemptId: string): void {
    if (this.probe()?.attemptId !== attemptId) return;
    discard(this.path);
    this.release(attemptId);
  }

  /** Takes in how an attempt ended. */
  conclude({ attemptId }: Pick<RunOrder, 'attemptId'>, report: RunReport): void {
    const known = this.read();
    const isNews = known === null || report.endedAt > known.saidAt;
    if (report.code === 'usage_limit' && report.spawns > 0 && isNews) this.note(report);
    if (report.outcome === 'completed' && known !== null && isNews) discard(this.path);
    this.release(attemptId);
  }

  /** Gives the claim to find out back, where the attempt has it. */
  release(attemptId: string): void {
    if (this.probe()?.attemptId === attemptId) discard(this.probePath);
  }

  private note({ endedAt, resetsAt }: RunReport): void {
    const until = resetsAt ?? new Date(Date.parse(endedAt) + UNKNOWN_MS).toISOString();
    // An old report that is read again says nothing of today.
    if (Date.parse(until) <= this.now() - UNKNOWN_MS) return;
    makePrivateDirectory(join(this.home, 'accounts'));
    const limit: Limit = { codexHome: this.codexHome, saidAt: endedAt, until };
    replaceFile(this.path, JSON.stringify(limit), { isDurable: true });
  }

  private read(): Limit | null {
    const found = readGuarded(this.path, isLimit);
    return found.kind === 'found' ? found.value : null;
  }

  private readonly isAhead = ({ until }: Limit): boolean => Date.parse(until) > this.now();

  private probe(): Probe | null {
    const found = readGuarded(this.probePath, isProbe);
    return found.kind === 'found' ? found.value : null;
  }

  private claimProbe(attemptId: string): boolean {
    const claim = JSON.stringify({ attemptId, at: new Date(this.now()).toISOString() } satisfies Probe);
    if (createOnce(this.probePath, claim)) return true;
    const holder = this.probe();
    if (holder?.attemptId === attemptId) return true;
    if (holder !== null && !this.isOver(holder)) return false;
    return this.dropProbe(holder, attemptId) && createOnce(this.probePath, claim);
  }

  /** Takes a claim away whose attempt is over; never the one that somebody else put in its place meanwhile. */
  private dropProbe(over: Probe | null, attemptId: string): boolean {
    const aside = `${this.probePath}.${attemptId}`;
    try {
      renameSync(this.probePath, aside);
      const taken = readGuarded(aside, isProbe);
      const isIt = (taken.kind === 'found' ? taken.value.attemptId : null) === (over?.attemptId ?? null);
      if (!isIt) linkSync(aside, this.probePath);
      return isIt;
    } catch {
      return false;
    } finally {
      discard(aside);
    }
  }

  private isOver({ attemptId, at }: Probe): boolean {
    const paths = runPaths(this.home, attemptId);
    if (readExit(paths).kind === 'found') return true;
    const isYoung = Math.abs(this.now() - Date.parse(at)) < BEGIN_MS;
    return !isYoung && executorState(paths, attemptId).kind === 'gone';
  }
}
