import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codexHomeOf, providerEnvironment, secretValues } from '../../../activities/provider/provider-environment';

describe('environment of a provider', () => {
  const home = mkdtempSync(join(tmpdir(), 'perdure-codex-home-'));
  afterAll(() => {
    rmSync(home, { recursive: true, force: true });
  });
  const worker = {
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    https_proxy: 'http://proxy',
    OPENAI_API_KEY: 'key',
    TEMPORAL_API_KEY: 'temporal-secret',
    PERDURE_HOME: '/p',
    PERDURE_PROVIDER_ENV: 'EXTRA, TEMPORAL_API_KEY,PERDURE_HOME',
    EXTRA: 'x',
    GITHUB_TOKEN: 'tracker-secret',
    DATABASE_URL: 'postgres://secret',
    NODE_OPTIONS: '--inspect',
    MODEL_KEY: 'model-secret',
    HEADER_VALUE: 'header-secret',
  };

  it('is an allow-list: no Temporal, tracker or store credential is in it (SE-5)', () => {
    expect(providerEnvironment(worker, '/nowhere', 'attempt')).toEqual({
      PATH: '/bin',
      HOME: '/home/me',
      LC_ALL: 'C',
      https_proxy: 'http://proxy',
      OPENAI_API_KEY: 'key',
      EXTRA: 'x',
      CODEX_HOME: '/nowhere',
      PERDURE_RUNNER_OF: 'attempt',
    });
  });

  it('holds the credentials that the Codex home itself names', () => {
    writeFileSync(
      join(home, 'config.toml'),
      '[model_providers.mine]\nenv_key = "MODEL_KEY"\nenv_http_headers = { "X-Key" = "HEADER_VALUE" }\n[model_providers.bad]\nenv_key = 5\n[model_providers.ours]\nenv_key = "TEMPORAL_API_KEY"\n',
    );
    const environment = providerEnvironment(worker, home, 'attempt');
    expect(environment).toMatchObject({ MODEL_KEY: 'model-secret', HEADER_VALUE: 'header-secret' });
    expect(environment).not.toHaveProperty('TEMPORAL_API_KEY');
    expect(secretValues(worker, home)).toEqual(
      expect.arrayContaining(['temporal-secret', 'tracker-secret', 'model-secret', 'header-secret']),
    );
  });

  it('bears a configuration that is no TOML', () => {
    writeFileSync(join(home, 'config.toml'), 'not = = toml');
    expect(providerEnvironment(worker, home, 'attempt')).toMatchObject({ CODEX_HOME: home });
  });

  it('takes the recorded home of a thread before the host (P27)', () => {
    expect(codexHomeOf({ CODEX_HOME: '/h2', HOME: '/me' }, '/h1')).toBe('/h1');
    expect(codexHomeOf({ CODEX_HOME: '/h2', HOME: '/me' }, null)).toBe('/h2');
    expect(codexHomeOf({ HOME: '/me' }, null)).toBe('/me/.codex');
  });
});
