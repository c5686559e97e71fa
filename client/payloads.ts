import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { join } from 'node:path';
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import type { DataConverter, Payload } from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow';
import { createPayloadCodec } from './payload-codec';
import { readPayloadKeys } from './payload-keys';

type Env = Readonly<Record<string, string | undefined>>;

/** How what is said to a Temporal server is written, and read again. */
export interface Payloads {
  readonly dataConverter: DataConverter;
  /** Ids of the keys, the one that encrypts first; empty where nothing is encrypted. */
  readonly keyIds: readonly string[];
  /** A SHA-256 of a text as hexadecimal digits; with keys it takes one of them, so that nobody can guess the text by it. */
  digest(text: string): string;
}

/** Module that both the SDK and the workflow bundle load by its path. */
const ENCODED_FAILURES = join(__dirname, '..', 'contract', 'encoded-failures');

/** Reads what an environment says of the encryption of payloads. */
export function payloadsOf(env: Env): Payloads {
  const keys = readPayloadKeys(env);
  const [first] = keys;
  const payloadCodecs = [createPayloadCodec(keys)];
  if (first === undefined) {
    return {
      dataConverter: { payloadCodecs },
      keyIds: [],
      digest: (text) => createHash('sha256').update(text).digest('hex'),
    };
  }
  const digestKey = Buffer.from(hkdfSync('sha256', first.key, '', 'perdure digest', 32));
  return {
    dataConverter: { payloadCodecs, failureConverterPath: ENCODED_FAILURES },
    keyIds: keys.map(({ id }) => id),
    digest: (text) => createHmac('sha256', digestKey).update(text).digest('hex'),
  };
}

/** The value of the first of several payloads as a history holds them; undefined where there is none. */
export async function firstValue(
  { options }: Client,
  payloads: readonly Payload[] | null | undefined,
): Promise<unknown> {
  const [payload] = payloads ?? [];
  return payload && decodeFromPayloadsAtIndex<unknown>(options.loadedDataConverter, 0, [payload]);
}

/** Opens, in place, the heartbeats and failures of the activities that a description names. */
export async function openPending({ options }: Client, { raw }: WorkflowExecutionDescription): Promise<void> {
  const { loadedDataConverter } = options;
  const { payloadConverter } = loadedDataConverter;
  for (const pending of raw.pendingActivities ?? []) {
    const { heartbeatDetails, lastFailure } = pending;
    const [beat] = heartbeatDetails?.payloads ?? [];
    if (beat) {
      const value = await decodeFromPayloadsAtIndex<unknown>(loadedDataConverter, 0, [beat]);
      pending.heartbeatDetails = { payloads: [payloadConverter.toPayload(value)] };
    }
    const error = await decodeOptionalFailureToOptionalError(loadedDataConverter, lastFailure);
    if (error) pending.lastFailure = { ...lastFailure, message: error.message };
  }
}
