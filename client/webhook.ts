import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { messageOf, refuse } from './outcome';

const SECRET_BYTES = { least: 16, most: 4_096 } as const;
const HINT = 'Put at least 16 random bytes as text into it and give it mode 0600: only its owner may read it.';

/** Where the receipts of this home's orchestrator go. */
export const receiptsConfigSchema = z.strictObject({
  /** URL that every receipt is posted to. */
  webhook: z.string().refine(isWebhookUrl, {
    error: 'is no https URL (http only for a loopback address), or it holds a user name or a password',
  }),
  /** File of the secret that signs; relative to the home. */
  secretFile: z.string().min(1, { error: 'is empty' }),
  /** Milliseconds for which one receipt is tried. */
  giveUpAfterMs: z
    .int()
    .min(1_000)
    .max(30 * 86_400_000)
    .default(7 * 86_400_000),
});
export type ReceiptsConfig = z.infer<typeof receiptsConfigSchema>;

function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);

/**
 * Reads the secret of a webhook, without the line end that an editor adds.
 *
 * @throws RefusedError when the file is no file of its owner alone, or holds no secret; never with its content.
 */
export async function readSecret(home: string, { secretFile }: ReceiptsConfig): Promise<string> {
  const path = resolve(home, secretFile);
  const secret = await contentOf(path);
  const bytes = Buffer.byteLength(secret);
  if (bytes >= SECRET_BYTES.least && bytes <= SECRET_BYTES.most) return secret;
  return refuse('INVALID_ARGUMENT', `${path} holds ${String(bytes)} bytes, a secret has 16 to 4096`, { hint: HINT });
}

async function contentOf(path: string): Promise<string> {
  const file = await open(path, 'r').catch((error: unknown) =>
    refuse('INVALID_ARGUMENT', `the secret file cannot be read (${messageOf(error)})`, { hint: HINT }),
  );
  try {
    const found = await file.stat();
    if (!found.isFile()) refuse('INVALID_ARGUMENT', `${path} is no file`, { hint: HINT });
    const mode = found.mode & 0o777;
    if ((mode & 0o077) !== 0) {
      refuse('INVALID_ARGUMENT', `${path} has mode ${mode.toString(8).padStart(4, '0')}`, { hint: HINT });
    }
    const content = await file.read({ buffer: Buffer.alloc(SECRET_BYTES.most + 1), position: 0 });
    return content.buffer.toString('utf8', 0, content.bytesRead).trim();
  } finally {
    await file.close();
  }
}

/** A webhook as it may be shown: what comes behind the host can be a secret of its own. */
export const shownWebhook = (webhook: string): string => `${new URL(webhook).origin}/...`;
