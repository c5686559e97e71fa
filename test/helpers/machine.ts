import { spawn, execFileSync, type ChildProcess, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { openSession, type Session } from '../../client/index';
import { valueOf } from '../../client/outcome';
import { LocalHome } from './local-home';
import { killAllOf } from './outside-view';
import { root } from './root';
import { until } from './until';

const perdure = join(root, 'bin', 'perdure.js');

const usageSchema = z.looseObject({ inputTokens: z.number(), outputTokens: z.number() });
const attemptSchema = z.looseObject({
  attemptId: z.string(),
  mode: z.string(),
  threadId: z.string().nullable(),
  codexHome: z.string().nullable(),
  workspacePath: z.string().nullable(),
  spawns: z.number(),
  outcome: z.string().nullable(),
  code: z.string().nullable(),
  exit: z.looseObject({ code: z.number().nullable(), forced: z.boolean() }).nullable(),
  usage: usageSchema.nullable(),
});
const answerSchema = z.looseObject({
  success: z.boolean(),
  code: z.string().optional(),
  error: z.string().optional(),
  attemptId: z.string().optional(),
  threadId: z.string().nullish(),
  taskStatus: z.string().optional(),
  attempts: z.array(attemptSchema).optional(),
  task: z.looseObject({ status: z.string() }).optional(),
});

/** What a command answered with --json, and its exit code. */
export type Answer = z.infer<typeof answerSchema> & { status: number };

/** What a command printed for people, and its exit code. */
export interface Printed {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const followerSchema = z.object({ worker: z.object({ pid: z.number() }) });

/** One machine with the product on it: a home, a repository and workers, driven by the command line as a user does. */
export class Machine {
  readonly repository: string;
  private readonly sessions: Session[] = [];

  private constructor(
    readonly home: LocalHome,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    this.repository = home.file('repository');
  }

  /** Makes one for a server; its home is in `parent`, else in a temporary folder. */
  static async make(
    server: { readonly address: string },
    env: NodeJS.ProcessEnv = {},
    parent?: string,
  ): Promise<Machine> {
    const machine = new Machine(await LocalHome.make(parent), { TEMPORAL_ADDRESS: server.address, ...env });
    mkdirSync(machine.repository);
    // A sweep would come at a moment of its own; who wants one says so.
    machine.sweepEvery(0);
    const author = ['-c', 'user.name=tester', '-c', 'user.email=tester@localhost'];
    const git = (...args: string[]) => execFileSync('git', ['-C', machine.repository, ...author, ...args]);
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
    return machine;
  }

  /** Sets how often the workers that start from now on look for orphans; 0: never. */
  sweepEvery(intervalMs: number): void {
    writeFileSync(this.home.file('config.json'), JSON.stringify({ sweep: { intervalMs } }));
  }

  /** Path of the agent that `writeAgent` makes. */
  get agent(): string {
    return this.home.file('agent');
  }

  /** Makes a shell program the agent of workers that are started with it. */
  writeAgent(...lines: string[]): void {
    rmSync(this.agent, { recursive: true, force: true });
    writeFileSync(this.agent, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
  }

  /** Starts workers of this machine and waits until they are ready. */
  async startWorker(
    role: 'all' | 'orchestrator' | 'host',
    env: NodeJS.ProcessEnv = {},
    cwd?: string,
  ): Promise<ChildProcess> {
    return (await this.home.start(['worker', '--role', role], { ...this.env, ...env }, cwd)).child;
  }

  /** The environment of this machine's commands. */
  environment(exact: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const { TEMPORAL_ADDRESS: _other, ...inherited } = process.env;
    return { ...inherited, PERDURE_HOME: this.home.path, ...this.env, ...exact };
  }

  /** Runs a command as a person does, and gives what was printed. */
  async read(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Printed> {
    const child = this.spawn(args, env);
    const ended = Promise.all([once(child, 'exit'), text(child.stdout), text(child.stderr)]);
    const [[status], stdout, stderr] = await ended;
    return { status: Number(status), stdout, stderr };
  }

  /** Starts a command whose output somebody else reads. */
  spawn(args: string[], env: NodeJS.ProcessEnv = {}): ChildProcessByStdio<null, Readable, Readable> {
    return spawn(process.execPath, [perdure, ...args], {
      cwd: this.repository,
      env: this.environment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Reads the first line of what a command prints, and goes away. */
  async head(args: string[]): Promise<{ status: number; first: string; stderr: string }> {
    const child = this.spawn(args);
    const said = text(child.stderr);
    const exited = once(child, 'exit');
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
    child.stdout.destroy();
    const [status] = (await exited) as [number];
    return { status, first: chunk.toString().split('\n')[0] ?? '', stderr: await said };
  }

  /** Begins a command with --json; `stdin` is what it reads. */
  begin(args: string[], { stdin = '', env = {} }: { stdin?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Answer> {
    const child = spawn(process.execPath, [perdure, ...args, '--json'], {
      cwd: this.repository,
      env: this.environment(env),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    // It may be refused before it reads.
    child.stdin.on('error', () => undefined).end(stdin);
    const ended = Promise.all([once(child, 'exit'), text(child.stdout)]);
    return ended.then(([[status], stdout]) => ({ ...answerSchema.parse(JSON.parse(stdout)), status: Number(status) }));
  }

  readonly perdure = (...args: string[]): Promise<Answer> => this.begin(args);

  /** Every attempt of a task, as the audit tells it. */
  async attempts(taskId: string): Promise<z.infer<typeof attemptSchema>[]> {
    return (await this.perdure('audit', taskId)).attempts ?? [];
  }

  /** Status of a task, as its record tells it. */
  async status(taskId: string): Promise<string | undefined> {
    return (await this.perdure('task', 'show', taskId)).task?.status;
  }

  /** Ids of the attempts that reached this machine, in no order. */
  runs(): string[] {
    try {
      return readdirSync(this.home.file('runs'));
    } catch {
      return [];
    }
  }

  /** Id of the first attempt that reaches this machine and is none of the known ones. */
  nextRun(known: string[] = []): Promise<string> {
    return until(() => this.runs().find((attemptId) => !known.includes(attemptId)));
  }

  /** Whether the runner of an attempt has noted whom it started. */
  hasRunner(attemptId: string): boolean {
    return existsSync(this.home.file('runs', attemptId, 'runner.json'));
  }

  /** Pid of the worker that follows an attempt now. */
  followerOf(attemptId: string): number | undefined {
    try {
      const note: unknown = JSON.parse(readFileSync(this.home.file('followers', `${attemptId}.json`), 'utf8'));
      return followerSchema.parse(note).worker.pid;
    } catch {
      return undefined;
    }
  }

  /** A caller in this process, for tests that ask often. */
  async session(): Promise<Session> {
    const { session } = valueOf(await openSession(this.environment()));
    this.sessions.push(session);
    return session;
  }

  /** Ends everything of this machine, and removes it. */
  async dispose(): Promise<void> {
    for (const session of this.sessions) await session.close();
    // Workers first: they would take care of what is killed next.
    const path = this.home.path;
    await this.home.endAll();
    killAllOf(path);
    await this.home.remove();
  }
}
