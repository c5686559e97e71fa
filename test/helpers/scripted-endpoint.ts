import { z } from 'zod';
import { writeCodexConfig } from '../../scripts/endpoint/codex-config';
import { startScriptedEndpoint, type ScriptedEndpoint as Endpoint } from '../../scripts/scripted-endpoint';

/** Name and value of the credential that the home's configuration asks for. */
export const SCRIPTED_KEY = { SCRIPTED_KEY: 'scripted-secret' };

/** What Codex asked the model: the thread, and every user message that it sent along. */
export interface SeenRequest {
  readonly threadId: string | null;
  readonly userMessages: string[];
  /** Name of the schema that the last message was asked to follow. */
  readonly schema: string | undefined;
}

const bodySchema = z.looseObject({
  text: z.looseObject({ format: z.looseObject({ name: z.string() }).optional() }).optional(),
  input: z.array(
    z.looseObject({
      role: z.string().optional(),
      content: z.array(z.looseObject({ text: z.string().default('') })).nullish(),
    }),
  ),
});

function userMessages(body: unknown): string[] {
  const { input } = bodySchema.parse(body);
  return input
    .filter(({ role }) => role === 'user')
    .map(({ content }) => (content ?? []).map(({ text }) => text).join(''));
}

/** The demo's scripted model, with as many Codex homes as a test needs. */
export class ScriptedEndpoint {
  private constructor(private readonly endpoint: Endpoint) {}

  static async start(home: string): Promise<ScriptedEndpoint> {
    return new ScriptedEndpoint(await startScriptedEndpoint(home));
  }

  get requests(): SeenRequest[] {
    return this.endpoint.requests().map(({ threadId, body }) => ({
      threadId,
      userMessages: userMessages(body),
      schema: bodySchema.parse(body).text?.format?.name,
    }));
  }

  /** Makes another directory a Codex home whose model is this endpoint. */
  async makeHome(directory: string): Promise<string> {
    await writeCodexConfig(directory, this.endpoint.url);
    return directory;
  }

  close(): Promise<void> {
    return this.endpoint.close();
  }
}
