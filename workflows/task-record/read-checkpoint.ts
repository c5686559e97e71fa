import type { z } from 'zod';
import {
  CHECKPOINT_BYTES,
  checkpointSchema,
  verdictSchema,
  type Checkpoint,
  type CheckpointProblem,
  type ReviewVerdict,
} from '../../contract/checkpoint';
import { printable, utf8Length } from '../../contract/text';

/** A report that was read, or which check failed and where: never what the agent wrote (CK-8). */
export type ReadReport<T> = { readonly report: T } | { readonly diagnostic: string };

/** What a checkpoint is compared with. */
export interface Expected {
  readonly taskId: string;
  /** The thread of the run; null where the agent could not know it. */
  readonly session: string | null;
  readonly criteria: readonly string[];
  /** Whether the texts are checked as they are kept; by the rules before version 4, as they were sent. */
  readonly isCleanedFirst: boolean;
}

/** Reads the checkpoint that an agent's last message has to end with (CK-1 to CK-4, CK-9). */
export function readCheckpoint(message: string | null, expected: Expected): ReadReport<Checkpoint> {
  const read = readReport(message, checkpointSchema, expected.isCleanedFirst);
  if ('diagnostic' in read) return read;
  const problem = compare(read.report, expected);
  return problem === null ? read : { diagnostic: problem };
}

/** Reads the verdict that a review has to end with. */
export function readVerdict(message: string | null, taskId: string): ReadReport<ReviewVerdict> {
  const read = readReport(message, verdictSchema);
  if ('diagnostic' in read) return read;
  return read.report.taskId === taskId ? read : { diagnostic: problem('task_mismatch', ['taskId']) };
}

const MAX_DIAGNOSTIC = 240;
const BLOCK = /^```checkpoint[ \t]*\r?\n([\s\S]*?)\r?\n```[ \t]*$/gm;

function readReport<S extends z.ZodType>(
  message: string | null,
  schema: S,
  isCleanedFirst = true,
): ReadReport<z.output<S>> {
  const found = extract(message?.trim() ?? '');
  if ('diagnostic' in found) return found;
  if (utf8Length(found.report) > CHECKPOINT_BYTES) return { diagnostic: 'checkpoint_too_large' };
  const given = parse(found.report);
  const parsed = schema.safeParse(isCleanedFirst ? cleaned(given) : given, { reportInput: false });
  if (parsed.success) return { report: cleaned(parsed.data) as z.output<S> };
  return { diagnostic: diagnose(parsed.error) };
}

/** The JSON of a report: the whole message, as a schema asks for it, or one fenced block at its end. */
function extract(message: string): ReadReport<string> {
  if (message.startsWith('{') && message.endsWith('}')) return { report: message };
  const blocks = [...message.matchAll(BLOCK)];
  const [block] = blocks;
  if (block === undefined) {
    return { diagnostic: message.includes('```checkpoint') ? 'checkpoint_malformed' : 'checkpoint_missing' };
  }
  if (blocks.length > 1) return { diagnostic: 'checkpoint_malformed' };
  const isLast = message.slice(block.index + block[0].length).trim() === '';
  return isLast ? { report: block[1] ?? '' } : { diagnostic: 'checkpoint_not_last' };
}

/** Undefined fits no schema, so what is no JSON is told as malformed. */
function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

function diagnose({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue === undefined || issue.path.length === 0) {
    if (issue?.code === 'unrecognized_keys') return problem('field_invalid', ['?']);
    return 'checkpoint_malformed';
  }
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, '?'] : issue.path;
  return problem('field_invalid', path);
}

/** Names that a pointer may show: the grammar's own; any other name is the agent's text (CK-9). */
const FIELDS = new Set<PropertyKey>([
  ...Object.keys(checkpointSchema.shape),
  ...Object.keys(verdictSchema.shape),
  'id',
  'state',
  'evidence',
  'kind',
  'description',
  'external',
]);

function problem(reason: CheckpointProblem, path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' || FIELDS.has(part) ? String(part) : '?'));
  return `${reason} at /${parts.join('/')}`.slice(0, MAX_DIAGNOSTIC);
}

function compare(report: Checkpoint, { taskId, session, criteria }: Expected): string | null {
  if (report.taskId !== taskId) return problem('task_mismatch', ['taskId']);
  if (report.session !== null && report.session !== session) return problem('session_mismatch', ['session']);
  const seen = new Set<string>();
  for (const [index, { id }] of report.criteria.entries()) {
    if (!criteria.includes(id) || seen.has(id)) return problem('criteria_unknown', ['criteria', index, 'id']);
    seen.add(id);
  }
  if (seen.size < criteria.length) return problem('criteria_missing', ['criteria']);
  const { status } = report;
  if (status === 'continue' && report.nextStep === null) return problem('field_invalid', ['nextStep']);
  if (status === 'blocked' && report.question === null) return problem('field_invalid', ['question']);
  if (status !== 'done') return null;
  const open = report.criteria.findIndex(({ state }) => state !== 'met');
  if (open >= 0) return problem('criteria_open', ['criteria', open, 'state']);
  return report.remainingWork.length > 0 ? problem('field_invalid', ['remainingWork']) : null;
}

/** Levels of lists and objects in a report; what nests deeper is none, and no stack may end there. */
const LEVELS = 4;

/** Takes control characters out of every text of a report, but line feeds and tabs (CK-3). */
function cleaned(value: unknown, levels = LEVELS): unknown {
  if (typeof value === 'string') return printable(value);
  if (typeof value !== 'object' || value === null || levels === 0) return value;
  const part = (each: unknown) => cleaned(each, levels - 1);
  if (Array.isArray(value)) return value.map(part);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, part(each)]));
}
