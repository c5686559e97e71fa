import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { WorkflowUpdateFailedError, type WorkflowHandle } from '@temporalio/client';
import { FAILURES } from '../../contract/failures';

/** What one sending of a request was answered: an answer, or the code of its refusal. */
export type Reply = { readonly answer: unknown } | { readonly refused: string };

/** A request with its id, and everything that was ever answered to it. */
export class Shot {
  readonly replies: Reply[] = [];
  readonly id: string;

  constructor(
    readonly task: WorkflowHandle,
    readonly kind: string,
    readonly content: Readonly<Record<string, unknown>>,
  ) {
    this.id = randomUUID();
  }

  get isAccepted(): boolean {
    return this.replies.some((reply) => 'answer' in reply);
  }

  /** Sends it until it is answered, as a client does that lost an answer. */
  async send(updateId?: string): Promise<Reply> {
    const reply = await this.insist({ ...this.content, requestId: this.id, actor: this.id }, updateId);
    this.replies.push(reply);
    return reply;
  }

  /** Sends something else under its id. */
  misuse(): Promise<Reply> {
    const other = new Shot(this.task, 'addActivity', { summary: 'something else' });
    return other.insist({ ...other.content, requestId: this.id, actor: this.id });
  }

  private async insist(input: object, updateId?: string): Promise<Reply> {
    const options = { args: [input] as [unknown], ...(updateId !== undefined && { updateId }) };
    for (;;) {
      try {
        return { answer: await this.task.executeUpdate<unknown, [unknown]>(this.kind, options) };
      } catch (error) {
        const code = codeOf(error);
        if (code !== undefined) return { refused: code };
        await sleep(20);
      }
    }
  }
}

/** The code of a refusal of ours; undefined when the request got no answer at all. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof WorkflowUpdateFailedError)) return undefined;
  const type = (error.cause as { type?: string } | undefined)?.type;
  return type !== undefined && type in FAILURES ? type : undefined;
}
