import { codedFailure } from '../../contract/coded-failure';
import { WorkspaceError } from './workspaces';

/** The one mapping of this family's errors to failures. */
export function toSandboxFailure(error: unknown): never {
  if (!(error instanceof WorkspaceError)) throw error;
  throw codedFailure(error.code, error.message);
}
