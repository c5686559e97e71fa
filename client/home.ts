import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { invalidArgument } from '../contract/failures';
import { limitsSchema, policySchema } from '../contract/run';
import { id } from '../contract/text';
import { errnoOf, messageOf, refuse } from './outcome';
import { receiptsConfigSchema } from './webhook';

type Env = Readonly<Record<string, string | undefined>>;

const hostSchema = z.object({ hostId: id });

/** Defaults of this home: what a dispatch gets when no flag says otherwise. */
const configSchema = z.strictObject({
  limits: limitsSchema.prefault({}),
  policy: policySchema.prefault({}),
  sweep: z
    .strictObject({
      /** Milliseconds between two looks for orphans, by whichever orchestrator worker started last; 0: none. */
      intervalMs: z
        .int()
        .refine((ms) => ms === 0 || (ms >= 1_000 && ms <= 86_400_000), { error: 'is neither 0 nor 1 s to 24 h' })
        .default(5 * 60_000),
    })
    .prefault({}),
  /** Without it receipts stay in the store, for whoever lists them. */
  receipts: receiptsConfigSchema.optional(),
});
export type HomeConfig = z.infer<typeof configSchema>;

/** One machine's part of the product: where its data lives, and who it is. */
export interface Home {
  /** Absolute path of PERDURE_HOME. */
  readonly path: string;
  readonly hostId: string;
  readonly tenantId: string;
  readonly config: HomeConfig;
}

/** Absolute path of the home that an environment names; `~/.perdure` without one. */
export function homePath(env: Env): string {
  const named = env['PERDURE_HOME'];
  return named === undefined || named.trim() === '' ? join(homedir(), '.perdure') : resolve(named);
}

/** Opens the home: makes the directory (mode 0700) and the host id once, and reads the configuration. */
export async function openHome(env: Env): Promise<Home> {
  const path = homePath(env);
  const tenantId = tenantOf(env);
  try {
    await makeDirectory(path);
  } catch (error) {
    refuse('INVALID_ARGUMENT', `the home ${path} cannot be made (${messageOf(error)})`, {
      hint: 'Set PERDURE_HOME to a directory that you may write to.',
    });
  }
  return { path, tenantId, hostId: await hostIdOf(path), config: await readConfig(join(path, 'config.json')) };
}

/** Makes a directory and what is missing above it; Node's own `recursive` never returns below /proc. */
async function makeDirectory(path: string): Promise<void> {
  const make = (): Promise<void> => mkdir(path, { mode: 0o700 });
  try {
    await make().catch(async (error: unknown) => {
      if (errnoOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
      await makeDirectory(dirname(path));
      await make();
    });
    await chmod(path, 0o700);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
  }
}

function tenantOf(env: Env): string {
  const named = env['PERDURE_TENANT'];
  if (named === undefined || named === '') return 'default';
  const parsed = id.safeParse(named);
  if (parsed.success) return parsed.data;
  return refuse('INVALID_ARGUMENT', `PERDURE_TENANT ${invalidArgument(parsed.error).error}`);
}

/** Reads the host id, or makes it: of several processes that make it at once, the first one's counts. */
async function hostIdOf(path: string): Promise<string> {
  const file = join(path, 'host.json');
  const known = await readJson(file, hostSchema);
  if (known !== undefined) return known.hostId;
  const name = hostname().toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 40); // prettier-ignore
  const hostId = `${name === '' ? 'host' : name}-${randomBytes(2).toString('hex')}`;
  const draft = `${file}.${String(process.pid)}-${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(draft, `${JSON.stringify({ hostId })}\n`, { mode: 0o600, flush: true });
    await link(draft, file);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') {
      refuse('INVALID_ARGUMENT', `the home ${path} cannot be written to (${messageOf(error)})`, {
        hint: 'Set PERDURE_HOME to a directory that you may write to.',
      });
    }
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }
  return (await readJson(file, hostSchema))?.hostId ?? hostId;
}

const CONFIG_HINT =
  'It holds a JSON object of defaults like {"limits":{"timeMs":3600000},"policy":{"sandbox":"workspace-write"}}; correct or remove it.';

async function readConfig(file: string): Promise<HomeConfig> {
  return (await readJson(file, configSchema, CONFIG_HINT)) ?? configSchema.parse({});
}

/** Reads a JSON file through a schema; undefined when there is none, refused when it is not what it should be. */
async function readJson<T>(file: string, schema: z.ZodType<T>, hint = `Correct ${file}.`): Promise<T | undefined> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    return refuse('INVALID_ARGUMENT', `${file} cannot be read (${messageOf(error)})`);
  }
  const value = parseJson(content);
  if (value === undefined) refuse('INVALID_ARGUMENT', `${file} is no JSON`, { hint });
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  return refuse('INVALID_ARGUMENT', `${file}: ${invalidArgument(parsed.error).error}`, { hint });
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
