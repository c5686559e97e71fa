import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { refuse } from './outcome';
import type { PayloadKey } from './payload-keys';

/** The names are those of Temporal's encryption samples; the data is nonce, ciphertext and tag of the serialized payload. */
const ENCODING = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const CIPHER = 'aes-256-gcm';

/** Bytes of the nonce and of the tag of AES-GCM. */
const NONCE = 12;
const TAG = 16;

const { Payload: Message } = temporal.api.common.v1;

/**
 * Encrypts every payload by the first key and opens those of all keys. What is not encrypted passes as it is: histories
 * from before the keys go on. Without a key nothing is encrypted, and what is encrypted is refused with the reason.
 */
export function createPayloadCodec(keys: readonly PayloadKey[]): PayloadCodec {
  const [first] = keys;
  return {
    encode: (payloads) =>
      Promise.resolve(first === undefined ? payloads : payloads.map((payload) => seal(first, payload))),
    // A refusal is to come as a rejection.
    decode: async (payloads) => Promise.resolve(payloads.map((payload) => open(keys, payload))),
  };
}

function seal({ id, key }: PayloadKey, payload: Payload): Payload {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG });
  const sealed = [cipher.update(Message.encode(payload).finish()), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCODING), [KEY_ID]: Buffer.from(id) },
    data: Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]),
  };
}

function open(keys: readonly PayloadKey[], payload: Payload): Payload {
  if (textOf(payload, 'encoding') !== ENCODING) return payload;
  const id = textOf(payload, KEY_ID);
  const found = keys.find((each) => each.id === id);
  if (found === undefined) return refuseKey(`it is encrypted by the key ${JSON.stringify(id)}`, keys);
  const data = payload.data ?? new Uint8Array();
  const nonce = data.subarray(0, NONCE);
  try {
    const decipher = createDecipheriv(CIPHER, found.key, nonce, { authTagLength: TAG });
    decipher.setAuthTag(data.subarray(Math.max(data.length - TAG, NONCE)));
    const opened = [decipher.update(data.subarray(NONCE, -TAG)), decipher.final()];
    return Message.decode(Buffer.concat(opened));
  } catch {
    return refuseKey(
      `the key ${found.id} does not open it: it is another key of that name, or the data was changed`,
      keys,
    );
  }
}

const textOf = ({ metadata }: Payload, name: string): string => Buffer.from(metadata?.[name] ?? []).toString();

function refuseKey(why: string, keys: readonly PayloadKey[]): never {
  const known =
    keys.length === 0 ? 'this process has no keys' : `this process has ${keys.map(({ id }) => id).join(', ')}`;
  return refuse('PAYLOAD_KEY_MISSING', `a payload cannot be read: ${why}; ${known}`);
}
