import type { FailureCode } from '../../contract/failures';
import { isUsageLimit, MOST_WORDS } from './usage-limit';

/** The login or the key that the model's endpoint does not take; another try asks the same. */
const CREDENTIALS = [
  /refresh[_ ]token\b[^\n]*\b(already used|reused|expired|revoked|invalid)/i,
  /access token could not be refreshed/i,
  /session could not be refreshed/i,
  /(log out and )?sign in again/i,
  /\b401\b[^\n]*unauthorized|unauthorized[^\n]*\b401\b/i,
  /(incorrect|invalid)[ _]api[ _]key/i,
  /missing environment variable: `/i,
  /not logged in|login is required/i,
];

/** The model's endpoint refuses the history of the thread; every further request would hold it again. */
const HISTORY = [
  /no tool (output|call) found for/i,
  /without its required (following|preceding) item/i,
  /invalid_encrypted_content|encrypted content[^\n]*could not be (verified|decrypted)/i,
  /(function|tool)[_ ]call[^\n]*(must be followed by|without)[^\n]*(output|result|response)/i,
  /ran out of room in the model's context window|context_length_exceeded/i,
];

/** What a provider's last words name as the cause of its failure, where another try would not help at once. */
export function causeOf(spoken: string): FailureCode | null {
  const words = spoken.slice(0, MOST_WORDS);
  if (isUsageLimit(words)) return 'usage_limit';
  if (CREDENTIALS.some((text) => text.test(words))) return 'credentials_invalid';
  return HISTORY.some((text) => text.test(words)) ? 'thread_unusable' : null;
}
