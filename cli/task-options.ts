import { Option, type Command } from 'commander';
import type { RunSettings, TaskDraft } from '../client/index';
import { CLEAN_TREE, shellQuoted } from '../contract/shell';
import { addDeliveryOptions, deliveryOf, type DeliveryOptions } from './delivery-options';
import { collect, collectText, durationUpTo, pair, time } from './values';

const PRIORITIES = ['low', 'medium', 'high'] as const;
const SANDBOXES = ['read-only', 'workspace-write', 'danger-full-access'] as const;

/** Values of the flags that describe a task's content, new or changed. */
export interface ContentOptions {
  readonly description?: string;
  readonly parent?: string;
  /** False: none any more. */
  readonly dependsOn?: string[] | false;
  readonly meta?: Record<string, string> | false;
  readonly priority?: (typeof PRIORITIES)[number];
  readonly due?: string;
  readonly requireReview?: boolean;
  readonly accept?: string[] | false;
  readonly acceptFile?: string[];
  readonly acceptClean?: boolean;
}

/** Values of the flags that describe a new task. */
export interface DraftOptions extends ContentOptions {
  readonly title: string;
  readonly id?: string;
  readonly agent?: string;
  readonly workspace?: string;
  readonly auto?: boolean;
}

/** Values of the flags that say how a run shall go. */
export interface RunOptions extends DeliveryOptions {
  readonly sandbox?: (typeof SANDBOXES)[number];
  readonly model?: string;
  readonly timeLimit?: number;
  readonly inactivity?: number;
}

/** Adds the flags that describe a new task. */
export function addDraftOptions(command: Command): Command {
  return command
    .requiredOption('--title <text>', 'what the task is, in one line')
    .option('--id <id>', 'id of the task; made up when left out')
    .option('--description <text>', 'goal and criteria, Markdown; - reads it from stdin')
    .option('--agent <id>', 'agent that owns the task (default: general-purpose)')
    .option('--workspace <dir>', 'directory in a git repository (default: the current one, else a scratch one)')
    .option('--parent <id>', 'task that this one is a part of')
    .option('--depends-on <id>', 'task that this one needs; repeatable', collect)
    .option('--auto', 'run it by itself when what it depends on has completed')
    .option('--meta <key=value>', 'free data; repeatable; projectId names the project whose queue runs it', pair)
    .addOption(new Option('--priority <level>', 'how urgent').choices(PRIORITIES))
    .option('--due <time>', 'due date, like 2026-12-31T17:00:00Z', time)
    .option('--require-review', 'a person reviews the result')
    .option('--accept <command>', 'command that must exit 0 in the workspace; repeatable', collectText)
    .option('--accept-file <path>', 'file that must be in the workspace; repeatable', collectText)
    .option(
      '--accept-clean',
      'the workspace must hold no change that is not committed; to commit, Codex needs --sandbox danger-full-access',
    );
}

/** Adds the flags that say how a run shall go. */
export function addRunOptions(command: Command): Command {
  return addDeliveryOptions(command)
    .addOption(new Option('--sandbox <mode>', 'what the agent may do').choices(SANDBOXES))
    .option('--model <name>', "the provider's model")
    .option('--time-limit <duration>', 'longest run, like 30m (1s to 7d)', durationUpTo('7d'))
    .option('--inactivity <duration>', 'longest silence, like 5m (1s to 24h)', durationUpTo('24h'));
}

/** The draft of a task that flags describe. */
export async function draftOf(options: DraftOptions): Promise<TaskDraft> {
  const { title, id, agent, workspace, auto } = options;
  return {
    title,
    ...(id !== undefined && { id }),
    ...(agent !== undefined && { agentId: agent }),
    ...(workspace !== undefined && { workspace }),
    ...(auto !== undefined && { auto }),
    ...(await contentOf(options)),
  };
}

/** The content fields that flags give; reads the description from stdin when asked to. */
export async function contentOf(options: ContentOptions) {
  const { parent, dependsOn, meta, priority, due, requireReview } = options;
  const acceptance = acceptanceOf(options);
  const description = options.description === '-' ? await readStdin() : options.description;
  return {
    ...(description !== undefined && { description }),
    ...(parent !== undefined && { parentId: parent }),
    ...(dependsOn !== undefined && { dependencies: dependsOn === false ? [] : dependsOn }),
    ...(meta !== undefined && { metadata: meta === false ? {} : meta }),
    ...(priority !== undefined && { priority }),
    ...(due !== undefined && { dueDate: due }),
    ...(requireReview !== undefined && { requireReview }),
    ...(acceptance !== undefined && { acceptance }),
  };
}

/** Acceptance criteria are commands; a file that must be there and a clean tree are short for one. */
function acceptanceOf({ accept, acceptFile, acceptClean }: ContentOptions): string[] | undefined {
  if (accept === false) return [];
  const files = (acceptFile ?? []).map((path) => `test -e ${shellQuoted(path)}`);
  const clean = acceptClean === true ? [CLEAN_TREE] : [];
  const all = [...(accept ?? []), ...files, ...clean];
  return all.length > 0 ? all : undefined;
}

/** The settings of a run that flags describe. */
export function settingsOf(options: RunOptions): RunSettings {
  const { sandbox, model, timeLimit, inactivity } = options;
  return {
    ...deliveryOf(options),
    policy: { ...(sandbox !== undefined && { sandbox }), ...(model !== undefined && { model }) },
    limits: {
      ...(timeLimit !== undefined && { timeMs: timeLimit }),
      ...(inactivity !== undefined && { inactivityMs: inactivity }),
    },
  };
}

/** Bytes of a description from stdin that are read at most: more than any task may hold. */
const STDIN_BYTES = 4 * 1024 * 1024;

/** Reads stdin to its end, or as far as is needed to refuse it. */
export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const part = Buffer.from(chunk as Uint8Array);
    chunks.push(part);
    bytes += part.length;
    if (bytes > STDIN_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
