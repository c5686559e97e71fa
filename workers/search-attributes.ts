import type { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTE } from '../contract/names';
import { refuse } from '../client/outcome';
import { GRPC, grpcStatus } from '../client/temporal-failure';

/** `IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD` of the Temporal API: all our attributes are keywords. */
const KEYWORD = 2;

/** Status codes of gRPC. */
const ALREADY_EXISTS = 6;
const UNIMPLEMENTED = 12;

const WANTED: readonly string[] = Object.values(SEARCH_ATTRIBUTE).map(({ name }) => name);

/**
 * Registers our search attributes on the namespace. Where we may not, it refuses and says which are missing: a
 * workflow that sets an unknown attribute would make no progress.
 */
export async function ensureSearchAttributes(connection: NativeConnection, namespace: string): Promise<void> {
  const missing = await missingAttributes(connection, namespace);
  if (missing === undefined || missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  try {
    await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    const status = grpcStatus(error);
    if (status?.code === ALREADY_EXISTS) return;
    // Another worker may have been faster.
    if ((await missingAttributes(connection, namespace))?.length === 0) return;
    const flags = missing.map((name) => `--name ${name}`).join(' ');
    refuse('TEMPORAL_REFUSED', `namespace ${namespace} lacks the search attributes ${missing.join(', ')}`, {
      hint: `Create them: temporal operator search-attribute create --namespace ${namespace} --type Keyword ${flags}`,
    });
  }
}

/** The attributes that the namespace lacks, or undefined where we may not look (Temporal Cloud). */
async function missingAttributes(connection: NativeConnection, namespace: string): Promise<string[] | undefined> {
  try {
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return WANTED.filter((name) => !(name in customAttributes));
  } catch (error) {
    const code = grpcStatus(error)?.code;
    const isHidden = [GRPC.permissionDenied, GRPC.unauthenticated, UNIMPLEMENTED].some((hidden) => hidden === code);
    if (isHidden) return undefined;
    throw error;
  }
}
