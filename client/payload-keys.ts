import { createSecretKey, type KeyObject } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { messageOf, refuse, RefusedError } from './outcome';

type Env = Readonly<Record<string, string | undefined>>;

/** Variable that names the file of the keys; the keys themselves are in no environment. */
const PAYLOAD_KEYS = 'PERDURE_PAYLOAD_KEYS';

/** A key of AES-256. Its id goes along with what it encrypts. */
export interface PayloadKey {
  readonly id: string;
  readonly key: KeyObject;
}

const HINT =
  'It holds one key a line, `<keyId> <base64 of 32 bytes>`, the first of which encrypts: ' +
  '(umask 077; echo "k1 $(openssl rand -base64 32)" > FILE).';

/** Reads the keys that an environment names; none without the variable. No refusal quotes the file. */
export function readPayloadKeys(env: Env): PayloadKey[] {
  const path = env[PAYLOAD_KEYS];
  if (path === undefined) return [];
  // Empty may be a slip in a deployment: what shall be secret is not written in clear by accident.
  if (path.trim() === '') return refuseFile('is empty; name a file, or unset it');
  const lines = readPrivate(path).split('\n');
  const keys = lines.flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line.trim(), path, index + 1)]));
  const twice = keys.find(({ id }, index) => keys.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) refuseFile(`${path} names the key ${twice.id} twice`);
  if (keys.length === 0) refuseFile(`${path} holds no key`);
  return keys;
}

function readPrivate(path: string): string {
  let file: number | undefined;
  try {
    // Without O_NONBLOCK a pipe of that name would wait for its writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return refuseFile(`${path} is no file`);
    if ((stat.mode & 0o077) !== 0) {
      return refuseFile(`${path} can be read by others`, `Take their rights away: chmod 600 ${path}`);
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    return refuseFile(`${path} cannot be read (${messageOf(error)})`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const LINE = /^([A-Za-z0-9][A-Za-z0-9._-]{0,63})[ \t]+([A-Za-z0-9+/]{43}=)$/;

function parseLine(line: string, path: string, number: number): PayloadKey {
  const [, id, encoded] = LINE.exec(line) ?? [];
  if (id === undefined || encoded === undefined) refuseFile(`${path}: line ${String(number)} is no key`);
  return { id, key: createSecretKey(Buffer.from(encoded, 'base64')) };
}

function refuseFile(what: string, hint = HINT): never {
  refuse('INVALID_ARGUMENT', `${PAYLOAD_KEYS}: ${what}`, { hint });
}
