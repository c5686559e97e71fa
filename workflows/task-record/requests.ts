import { failure, type Failure } from '../../contract/failures';
import type { Carried } from '../../contract/run';

/**
 * How many answered requests a record remembers, at about 150 bytes each. A client whose answer was lost repeats its
 * request when the worker is back, and by then others may have sent hundreds: 200 were too few under fire.
 */
const REMEMBERED = 1_000;

interface Request {
  readonly requestId?: string | undefined;
}

type Answer = Carried['requests'][number]['answer'];

/** A short fingerprint of what a request asks, its id and who sends it apart. */
export function digestOf(name: string, input: object): string {
  const { requestId: _id, actor: _actor, ...content } = input as Record<string, unknown>;
  return fnv1a(`${name} ${canonical(content)}`);
}

/** JSON with sorted keys and without undefined parts; inputs come from a schema, so there is nothing else in them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, part]) => part !== undefined);
  return `{${entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, part]) => `${JSON.stringify(key)}:${canonical(part)}`)
    .join(',')}}`;
}

/** 64 bits of FNV-1a as hex: enough to tell two requests of one id apart, and plain code for the sandbox. */
export function fnv1a(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of text) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}

/** The first answer of a repeated request; a refusal when its id was used with other content (GN10). */
export function recall(carried: Carried, request: Request, digest: string): { answer: Answer } | Failure | null {
  const known = carried.requests.find(({ id }) => id === request.requestId);
  if (known === undefined || request.requestId === undefined) return null;
  if (known.digest === digest) return { answer: known.answer };
  return requestConflict(carried, request);
}

/** Refuses an id that another request has. */
export const requestConflict = (carried: Carried, { requestId = '' }: Request): Failure =>
  failure('REQUEST_CONFLICT', `request ${requestId} was sent before and asked something else`, {
    taskId: carried.task.id,
  });

/** Remembers what a request was answered. */
export function remember(carried: Carried, request: Request, entry: { digest: string; answer: Answer }): Carried {
  const { requestId } = request;
  if (requestId === undefined) return carried;
  return { ...carried, requests: [...carried.requests, { id: requestId, ...entry }].slice(-REMEMBERED) };
}
