import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const MARK = '# Written by the scripted endpoint.';

const configFor = (url: string): string => `${MARK}
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
web_search = "disabled"
# Without a login shell no profile of the user runs before each command.
allow_login_shell = false
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 2
stream_max_retries = 2
stream_idle_timeout_ms = 60000

[features]
# It would fetch plugins from github.com at each start.
plugins = false
# It would wait for a refused connection for ever.
unbounded_connection_retries = false

[shell_environment_policy]
exclude = ["SCRIPTED_KEY"]

[analytics]
enabled = false

[feedback]
enabled = false

[history]
persistence = "none"
`;

/** Writes a Codex home's configuration for an endpoint; never over one that somebody else wrote. */
export async function writeCodexConfig(home: string, url: string): Promise<void> {
  const file = join(home, 'config.toml');
  await mkdir(home, { recursive: true });
  const present = await readFile(file, 'utf8').catch(() => MARK);
  if (!present.startsWith(MARK)) throw new Error(`${file} is somebody's own; give the endpoint a home of its own`);
  await writeFile(file, configFor(url), { mode: 0o600 });
}
