import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { invalidArgument, type Failure } from '../contract/failures';
import { limitsSchema, policySchema } from '../contract/run';
import { id } from '../contract/text';
import { errnoOf, messageOf, refuse, RefusedError } from './outcome';
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
  /** What is wrong with the configuration, where the home was opened in spite of it. */
  readonly configTrouble?: Failure;
}

/** How a home is opened. */
export interface OpenHome {
  /** Whether defaults stand in for a configuration that cannot be used; for whoever looks for what is wrong. */
  readonly inSpiteOfConfig?: boolean;
}

/** Absolute path of the home that an environment names; `~/.perdure` without one. */
export function homePath(env: Env): string {
  const named = env['PERDURE_HOME'];
  return named === undefined || named.trim() === '' ? join(homedir(), '.perdure') : resolve(named);
}

/** Opens the home: makes the directory (mode 0700) and the host id once, and reads the configuration. */
export async function openHome(env: Env, { inSpiteOfConfig = false }: OpenHome = {}): Promise<Home> {
  const path = homePath(env);
  const tenantId = tenantOf(env);
  try {
    await makeDirectory(path);
  } catch (error) {
    refuse('INVALID_ARGUMENT', `the home ${path} cannot be made (${messageOf(error)})`, {
      hint: 'Set PERDURE_HOME to a directory that you may write to.',
    });
  }
  const home = { path, tenantId, hostId: await hostIdOf(path) };
  try {
    return { ...home, config: await readConfig(configFile(path)) };
  } catch (error) {
    if (!inSpiteOfConfig || !(error instanceof RefusedError)) throw error;
    return { ...home, config: configSchema.parse({}), configTrouble: error.failure };
  }
}

/** Path of a home's configuration. */
export const configFile = (home: string): string => join(home, 'config.json');

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

/** What each section may look like. */
const EXAMPLES: Readonly<Record<string, string>> = {
  limits: '{"limits":{"timeMs":3600000,"inactivityMs":300000}}',
  policy: '{"policy":{"sandbox":"workspace-write","model":"gpt-5.5"}}',
  sweep: '{"sweep":{"intervalMs":300000}}',
  receipts: '{"receipts":{"webhook":"https://...","secretFile":"webhook.secret"}}',
};

const CONFIG_HINT =
  'It holds a JSON object of defaults like {"limits":{"timeMs":3600000},"policy":{"sandbox":"workspace-write"}}; correct or remove it.';

/** How the section that is wrong may look; without one, the whole. */
function configHint(section: PropertyKey | undefined): string {
  const example = typeof section === 'string' ? EXAMPLES[section] : undefined;
  return example === undefined ? CONFIG_HINT : `The section may look like ${example}; correct or remove it.`;
}

async function readConfig(file: string): Promise<HomeConfig> {
  return (await readJson(file, configSchema, ([section]) => configHint(section))) ?? configSchema.parse({});
}

type Hint = (path: readonly PropertyKey[]) => string;

/** Reads a JSON file through a schema; undefined when there is none, refused when it is not what it should be. */
async function readJson<T>(
  file: string,
  schema: z.ZodType<T>,
  hintFor: Hint = () => `Correct ${file}.`,
): Promise<T | undefined> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    return refuse('INVALID_ARGUMENT', `${file} cannot be read (${messageOf(error)})`);
  }
  const value = parseJson(content);
  if (value === undefined) refuse('INVALID_ARGUMENT', `${file} is no JSON`, { hint: hintFor([]) });
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const { error, path } = firstTrouble(parsed.error);
  return refuse('INVALID_ARGUMENT', `${file}: ${error}`, { hint: hintFor(path) });
}

/** What is wrong first of all: a key that nobody knows is often the one that is missed elsewhere. */
function firstTrouble(error: z.ZodError): { error: string; path: readonly PropertyKey[] } {
  const unknown = error.issues.find(({ code }) => code === 'unrecognized_keys');
  const issue = unknown ?? error.issues[0];
  const said = issue === undefined ? error : new z.ZodError([issue]);
  return { error: invalidArgument(said).error, path: issue?.path ?? [] };
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
