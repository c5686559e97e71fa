import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { RUNNER_MARK } from '../../contract/marks';

const ALLOWED = new Set(
  [
    'PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR TERM',
    'CODEX_API_KEY OPENAI_API_KEY',
    'HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy',
    'SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS',
  ].flatMap((names) => names.split(' ')),
);
const OURS = /^(TEMPORAL|PERDURE)_/;
const SECRET_NAME = /TOKEN|SECRET|KEY|PASSWORD|CREDENTIAL/i;

const credentialsSchema = z.object({
  model_providers: z
    .record(
      z.string(),
      z.object({
        env_key: z.string().optional().catch(undefined),
        env_http_headers: z.record(z.string(), z.string()).optional().catch(undefined),
      }),
    )
    .catch({}),
});

/** Absolute path of the Codex home that a run uses; a recorded one wins. */
export function codexHomeOf(env: NodeJS.ProcessEnv, recorded: string | null): string {
  return resolve(recorded ?? (env['CODEX_HOME'] || join(env['HOME'] || homedir(), '.codex')));
}

/** Variables that a Codex home's own configuration names as its model provider's credentials. */
export function credentialNames(codexHome: string): string[] {
  try {
    const config = credentialsSchema.parse(parse(readFileSync(join(codexHome, 'config.toml'), 'utf8')));
    return Object.values(config.model_providers).flatMap(({ env_key, env_http_headers }) => [
      ...(env_key === undefined ? [] : [env_key]),
      ...Object.values(env_http_headers ?? {}),
    ]);
  } catch {
    // No configuration, or one that Codex itself will refuse in its own words.
    return [];
  }
}

/** Environment of the runner, and so of the provider and everything it runs: an allow-list, never our own secrets. */
export function providerEnvironment(env: NodeJS.ProcessEnv, codexHome: string, attemptId: string): NodeJS.ProcessEnv {
  const named = (env['PERDURE_PROVIDER_ENV'] ?? '').split(',').map((name) => name.trim());
  const allowed = new Set([...ALLOWED, ...named, ...credentialNames(codexHome)]);
  const isPassed = (name: string): boolean => (allowed.has(name) || name.startsWith('LC_')) && !OURS.test(name);
  const passed = Object.entries(env).filter(([name]) => isPassed(name));
  return { ...Object.fromEntries(passed), CODEX_HOME: codexHome, [RUNNER_MARK]: attemptId };
}

/** Values that must never show in a text of ours: those of variables named like a secret. */
export function secretValues(env: NodeJS.ProcessEnv, codexHome: string): string[] {
  const named = new Set(credentialNames(codexHome));
  return Object.entries(env)
    .filter(([name]) => SECRET_NAME.test(name) || named.has(name))
    .map(([, value]) => value ?? '')
    .filter((value) => value.length >= 6);
}
