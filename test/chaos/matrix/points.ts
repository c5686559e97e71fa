import type { Target } from './lane';

/** How the moment of a point is found: a process stands still at it, or its durable trace is watched for. */
type Found = 'stands' | 'trace';

export interface Point {
  readonly name: string;
  /** Row of the table of crashes that it belongs to. */
  readonly row: string;
  readonly what: string;
  readonly found: Found;
  readonly targets: readonly [Target, ...Target[]];
  /** Whether the provider has to come to its end for it. */
  readonly isLate?: true;
  /** Whether only the stub can be held there. */
  readonly isStubOnly?: true;
}

const ALWAYS = ['orchestrator', 'host', 'workers', 'server', 'power'] as const;
const WITH_RUNNER = [...ALWAYS, 'runner'] as const;
const WITH_PROVIDER = [...WITH_RUNNER, 'provider', 'executor'] as const;

/** Name of the moments that are taken by chance. */
export const RANDOM = 'random';

/** The points of an attempt at which something is killed, in their order. */
export const POINTS: readonly [Point, ...Point[]] = [
  {
    name: 'workspace',
    row: '1',
    what: 'the worktree is there, nothing says that it is whole',
    found: 'stands',
    targets: WITH_RUNNER,
  },
  {
    name: 'request',
    row: '1',
    what: 'all is written, the runner waits for its word',
    found: 'stands',
    targets: WITH_RUNNER,
  },
  {
    name: 'claim',
    row: '2',
    what: 'the attempt is taken, the ledger says nothing',
    found: 'stands',
    targets: WITH_RUNNER,
  },
  {
    name: 'ledger',
    row: '2',
    what: 'the ledger has the start, nothing was started',
    found: 'stands',
    targets: WITH_RUNNER,
  },
  {
    name: 'spawn',
    row: '3',
    what: 'the provider runs, its identity is not stored',
    found: 'stands',
    targets: WITH_PROVIDER,
  },
  {
    name: 'unnamed',
    row: '4',
    what: 'the provider runs and has named no thread',
    found: 'trace',
    targets: WITH_PROVIDER,
    isStubOnly: true,
  },
  { name: 'running', row: '4', what: 'the provider works in its thread', found: 'trace', targets: WITH_PROVIDER },
  {
    name: 'exit',
    row: '5',
    what: 'the provider has ended, nothing says so',
    found: 'stands',
    targets: WITH_RUNNER,
    isLate: true,
  },
  {
    name: 'read',
    row: '6',
    what: 'the end was read, its report has not left the worker',
    found: 'stands',
    targets: ALWAYS,
    isLate: true,
  },
  {
    name: 'result',
    row: '7',
    what: 'the result is in the history, no receipt is queued',
    found: 'stands',
    targets: ALWAYS,
    isLate: true,
  },
  {
    name: 'receipt',
    row: '8',
    what: 'the receipt is queued, the history does not say so',
    found: 'stands',
    targets: ALWAYS,
    isLate: true,
  },
  {
    name: 'settled',
    row: '9',
    what: 'the history has the receipt, the phase goes over',
    found: 'trace',
    targets: ALWAYS,
    isLate: true,
  },
];

export const ALL_TARGETS: readonly [Target, ...Target[]] = WITH_PROVIDER;
