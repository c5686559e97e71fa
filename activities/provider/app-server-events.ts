import { z } from 'zod';
import type { Notification } from './app-server-client';

const itemSchema = z.looseObject({ type: z.string(), id: z.string() });
const turnSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  error: z.looseObject({ message: z.string() }).nullish(),
});
const totalSchema = z.looseObject({ inputTokens: z.number(), cachedInputTokens: z.number(), outputTokens: z.number() });
const schemas = {
  ofTurn: z.looseObject({ turnId: z.string() }),
  item: z.looseObject({ item: itemSchema }),
  turn: z.looseObject({ turn: turnSchema }),
  error: z.looseObject({ error: z.looseObject({ message: z.string() }) }),
  usage: z.looseObject({ tokenUsage: z.looseObject({ total: totalSchema }) }),
};

/** How a turn ended, in the words of the app server. */
export type TurnEnd = 'completed' | 'failed' | 'interrupted';

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** An item as `codex exec --json` prints it: the same fields, other spelling. */
function execItem(item: z.output<typeof itemSchema>): object {
  const renamed = Object.entries(item).map(([name, value]) => [snake(name), value]);
  const spelt = Object.fromEntries(renamed) as Record<string, unknown>;
  const { status } = spelt;
  return { ...spelt, type: snake(item.type), ...(typeof status === 'string' && { status: snake(status) }) };
}

/** Turns what an app server says of one turn into the events that `codex exec --json` prints of it. */
export class TurnEvents {
  private usage: object | undefined;

  constructor(
    private readonly turnId: string,
    private readonly print: (event: object) => void,
  ) {}

  /** Takes a notification; gives the end of the turn when it is that. Those of other turns and threads do not count. */
  take({ method, params }: Notification): TurnEnd | null {
    if (method === 'turn/completed') return this.end(params);
    if (schemas.ofTurn.safeParse(params).data?.turnId !== this.turnId) return null;
    if (method === 'item/started' || method === 'item/completed') this.printItem(method, params);
    if (method === 'error') {
      const message = schemas.error.safeParse(params).data?.error.message;
      if (message !== undefined) this.print({ type: 'error', message });
    }
    if (method === 'thread/tokenUsage/updated') {
      const total = schemas.usage.safeParse(params).data?.tokenUsage.total;
      if (total !== undefined) this.usage = Object.fromEntries(Object.entries(total).map(([k, v]) => [snake(k), v]));
    }
    return null;
  }

  private printItem(method: string, params: unknown): void {
    const item = schemas.item.safeParse(params).data?.item;
    if (item === undefined || item.type === 'userMessage') return;
    // Codex itself tells of what was said once it is whole.
    if (method === 'item/started' && ['agentMessage', 'reasoning'].includes(item.type)) return;
    this.print({ type: method.replace('/', '.'), item: execItem(item) });
  }

  private end(params: unknown): TurnEnd | null {
    const turn = schemas.turn.safeParse(params).data?.turn;
    if (turn?.id !== this.turnId) return null;
    switch (turn.status) {
      case 'completed':
        this.print({ type: 'turn.completed', usage: this.usage });
        return 'completed';
      case 'failed':
        this.print({ type: 'turn.failed', error: { message: turn.error?.message ?? 'the turn failed' } });
        return 'failed';
      default:
        return 'interrupted';
    }
  }
}
