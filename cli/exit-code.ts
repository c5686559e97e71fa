import type { Failure } from '../contract/failures';

/** Exit codes of every command; other programs depend on them. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3, notFound: 4, interrupted: 130 } as const;

/** The exit code that stands for a failure. */
export function exitCodeOf({ code }: Pick<Failure, 'code'>): number {
  switch (code) {
    case 'USAGE':
      return EXIT.usage;
    case 'TEMPORAL_UNREACHABLE':
      return EXIT.unreachable;
    case 'TASK_NOT_FOUND':
    case 'PROJECT_NOT_FOUND':
    case 'INCIDENT_NOT_FOUND':
    case 'receipt_unknown':
      return EXIT.notFound;
    default:
      return EXIT.refused;
  }
}
