import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, Connection, type WorkflowExecutionDescription } from '@temporalio/client';
import { ApplicationFailure, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { encodeErrorToFailure, encodeToPayloads } from '@temporalio/common/lib/internal-non-workflow';
import { firstValue, openPending, payloadsOf } from '../../client/payloads';
import { pendingActivities } from '../../client/why';
import { toFailure } from '../../client/outcome';
import { newKeyLine, writeKeys } from '../helpers/payload-keys';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'perdure-keys-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const keysOf = (...lines: string[]) => payloadsOf({ PERDURE_PAYLOAD_KEYS: writeKeys(join(directory, 'keys'), lines) });

function codecOf(...lines: string[]) {
  const [codec] = keysOf(...lines).dataConverter.payloadCodecs ?? [];
  if (codec === undefined) throw new Error('there is no codec');
  const one = ([payload]: Payload[]): Payload => payload ?? {};
  return {
    encode: async (payload: Payload) => one(await codec.encode([payload])),
    decode: async (payload: Payload) => one(await codec.decode([payload])),
  };
}

const SECRET = defaultPayloadConverter.toPayload({ title: 'SECRET-CANARY' });
const [K1, K2] = [newKeyLine('k1'), newKeyLine('k2')] as const;

/** The failure that work is refused with. */
async function refusalOf(work: () => unknown) {
  try {
    await work();
  } catch (error) {
    return toFailure(error);
  }
  throw new Error('nothing was refused');
}

describe('a payload codec', () => {
  it('gives back what it was given, metadata and all (P75)', async () => {
    const codec = codecOf(K1);
    const opened = await codec.decode(await codec.encode(SECRET));
    expect(defaultPayloadConverter.fromPayload(opened)).toEqual({ title: 'SECRET-CANARY' });
    expect(Buffer.from(opened.metadata?.['encoding'] ?? []).toString()).toBe('json/plain');
  });

  it('leaves the id of the key in clear and nothing else, and never says the same twice (P75)', async () => {
    const codec = codecOf(K1);
    const [one, other] = [await codec.encode(SECRET), await codec.encode(SECRET)];
    expect(Object.keys(one.metadata ?? {})).toEqual(['encoding', 'encryption-key-id']);
    expect(Buffer.from(one.metadata?.['encryption-key-id'] ?? []).toString()).toBe('k1');
    expect(Buffer.from(one.data ?? []).includes('CANARY')).toBe(false);
    expect(one.data).not.toEqual(other.data);
  });

  it('encrypts by the first key and opens those of all (P75)', async () => {
    const old = await codecOf(K1).encode(SECRET);
    const rotated = codecOf(K2, K1);
    expect(await rotated.decode(old)).toEqual(await rotated.decode(await rotated.encode(SECRET)));
    const { code, error } = (await refusalOf(async () => codecOf(K1).decode(await rotated.encode(SECRET)))) ?? {};
    expect([code, error]).toEqual([
      'PAYLOAD_KEY_MISSING',
      expect.stringContaining('by the key "k2"; this process has k1'),
    ]);
  });

  it('refuses another key of the same name, and data that was changed or cut (P75)', async () => {
    const sealed = await codecOf(K1).encode(SECRET);
    const other = await refusalOf(() => codecOf(newKeyLine('k1')).decode(sealed));
    expect(other).toMatchObject({
      code: 'PAYLOAD_KEY_MISSING',
      error: expect.stringContaining('another key of that name'),
    });
    const data = Buffer.from(sealed.data ?? []);
    data[20] = (data[20] ?? 0) ^ 1;
    for (const changed of [data, data.subarray(0, -1), data.subarray(0, 5), Buffer.alloc(0)]) {
      const refusal = await refusalOf(() => codecOf(K1).decode({ ...sealed, data: changed }));
      expect(refusal?.code).toBe('PAYLOAD_KEY_MISSING');
    }
  });

  it('lets pass what is not encrypted, and without keys changes nothing and refuses what is (P75)', async () => {
    expect(await codecOf(K1).decode(SECRET)).toBe(SECRET);
    const { dataConverter } = payloadsOf({});
    const [plain] = dataConverter.payloadCodecs ?? [];
    const given = [SECRET];
    expect(await plain?.encode(given)).toBe(given);
    expect(dataConverter.failureConverterPath).toBeUndefined();
    const sealed = await codecOf(K1).encode(SECRET);
    const refusal = await refusalOf(() => plain?.decode([sealed]));
    expect(refusal).toMatchObject({ code: 'PAYLOAD_KEY_MISSING', error: expect.stringContaining('has no keys') });
  });

  it('makes a digest that only a holder of the key can compute (P75)', () => {
    const digest = keysOf(K1).digest('a note');
    expect(keysOf(K1).digest('a note')).toBe(digest);
    expect(keysOf(K2).digest('a note')).not.toBe(digest);
    expect(payloadsOf({}).digest('a note')).not.toBe(digest);
  });
});

describe('what a server tells of a run', () => {
  const clientOf = (...lines: string[]) =>
    new Client({ connection: Connection.lazy(), dataConverter: keysOf(...lines).dataConverter });

  it('is opened: the input, and heartbeat and failure of an activity that is tried again (P75)', async () => {
    const client = clientOf(K1);
    const { loadedDataConverter } = client.options;
    const payloads = (await encodeToPayloads(loadedDataConverter, { offset: 7 })) ?? [];
    expect(await firstValue(client, payloads)).toEqual({ offset: 7 });
    const lastFailure = await encodeErrorToFailure(
      loadedDataConverter,
      ApplicationFailure.create({ message: 'no disk' }),
    );
    expect(lastFailure).toMatchObject({ message: 'Encoded failure', stackTrace: '' });
    const pending = { activityType: { name: 'runProvider' }, attempt: 2, lastFailure, heartbeatDetails: { payloads } };
    const run = { raw: { pendingActivities: [pending] } } as unknown as WorkflowExecutionDescription;
    await openPending(client, run);
    expect(pendingActivities(run)).toMatchObject([{ tries: 2, lastFailure: 'no disk', heartbeat: { offset: 7 } }]);
  });
});

describe('a key file', () => {
  it('is read in order, blank lines aside, and shows no key when it is printed (P75)', () => {
    const payloads = keysOf(K2, '', K1);
    expect(payloads.keyIds).toEqual(['k2', 'k1']);
    const encoded = K1.split(' ')[1] ?? '';
    const raw = Buffer.from(encoded, 'base64');
    expect(inspect(payloads, { depth: 9, showHidden: true })).not.toContain(encoded);
    expect(inspect(payloads, { depth: 9, showHidden: true })).not.toContain(raw.toString('hex').slice(0, 8));
  });

  it.each<[string, string[]]>([
    ['is empty', []],
    ['holds a key without its id', [newKeyLine('').trim()]],
    ['holds a key that is too short', ['k1 SECRETSECRET=']],
    ['holds a key that is too long', [`${newKeyLine('k1')}AAAA`]],
    ['holds an id that is none', [newKeyLine('k/1')]],
    ['names an id twice', [newKeyLine('k1'), newKeyLine('k1')]],
  ])('that %s is refused, and the refusal holds no key (P75)', async (_what, lines) => {
    const refusal = await refusalOf(() => keysOf(...lines));
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', error: expect.stringContaining('PERDURE_PAYLOAD_KEYS') });
    for (const line of lines) expect(JSON.stringify(refusal)).not.toContain(line.split(' ').at(-1));
  });

  it.each([0o640, 0o604, 0o620])('that others have rights to is refused: mode %i (P75)', async (mode) => {
    const path = writeKeys(join(directory, 'keys'), [K1]);
    chmodSync(path, mode);
    const refusal = await refusalOf(() => payloadsOf({ PERDURE_PAYLOAD_KEYS: path }));
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', hint: expect.stringContaining('chmod 600') });
  });

  it.each<[string, () => string]>([
    ['missing', () => join(directory, 'nowhere')],
    ['a directory', () => directory],
    [
      'a pipe',
      () => {
        execFileSync('mkfifo', ['-m', '600', join(directory, 'pipe')]);
        return join(directory, 'pipe');
      },
    ],
    ['named by an empty variable', () => ''],
  ])('that is %s is refused at once (P75)', async (_what, make) => {
    const refusal = await refusalOf(() => payloadsOf({ PERDURE_PAYLOAD_KEYS: make() }));
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', error: expect.stringContaining('PERDURE_PAYLOAD_KEYS') });
  });
});
