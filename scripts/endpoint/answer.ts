import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from './script';

/** An answer that is to be given: its id, how often it was asked for, and its steps. */
export interface Answer {
  readonly id: string;
  readonly tries: number;
  readonly steps: Step[];
}

type Event = Record<string, unknown> & { readonly type: string };

const call = (id: string, name: string, argument: string): Event => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: `call_${id}`,
  name,
  arguments: argument,
});

/** The output item that a step yields, or undefined when it yields none. */
function itemOf(id: string, { name, argument }: Step): Event | undefined {
  switch (name) {
    case 'say':
      return {
        type: 'message',
        id: `msg_${id}`,
        role: 'assistant',
        content: [{ type: 'output_text', text: argument }],
      };
    case 'shell':
      return call(id, 'exec_command', JSON.stringify({ cmd: argument }));
    case 'poll':
      return call(id, 'write_stdin', argument);
    case 'patch':
      return patch(id, argument);
    default:
      return undefined;
  }
}

/** `@patch FILE TEXT` adds FILE with that one line. */
function patch(id: string, argument: string): Event {
  const [, file = '', line = ''] = /^(\S+) ?(.*)$/.exec(argument) ?? [];
  const input = `*** Begin Patch\n*** Add File: ${file}\n+${line}\n*** End Patch\n`;
  return { type: 'custom_tool_call', id: `ctc_${id}`, call_id: `call_${id}`, name: 'apply_patch', input };
}

/** The HTTP status that a `@fail STATUS [TIMES]` asks for at this try, or undefined. */
function failureOf({ steps, tries }: Answer): number | undefined {
  const fail = steps.find(({ name }) => name === 'fail');
  if (fail === undefined) return undefined;
  const [status, times] = fail.argument.split(' ');
  return times === undefined || tries <= Number(times) ? Number(status) : undefined;
}

/** Token counts by `@usage INPUT OUTPUT`, else 100 and 10. */
function usageOf(steps: Step[]): Record<string, unknown> {
  const [input = 100, output = 10] =
    steps
      .find(({ name }) => name === 'usage')
      ?.argument.split(' ')
      .map(Number) ?? [];
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
}

/** Streams an answer as the Responses API would, or fails as the script wants. */
export async function give(response: ServerResponse, answer: Answer): Promise<void> {
  const { id, steps } = answer;
  const status = failureOf(answer);
  if (status !== undefined) {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: 'the script wants a failure here', type: 'scripted' } }));
    return;
  }
  const refusal = /^(\d{3}) (.*)$/.exec(steps.find(({ name }) => name === 'refuse')?.argument ?? '');
  if (refusal !== null) {
    response.writeHead(Number(refusal[1]), { 'content-type': 'application/json' });
    response.end(refusal[2]);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (event: Event): void => {
    if (!response.destroyed) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  };
  send({ type: 'response.created', response: { id: `resp_${id}` } });
  for (const [index, step] of steps.entries()) {
    // Unreferenced: a script that sleeps must not keep a closed endpoint's process alive.
    if (step.name === 'sleep') await sleep(Number(step.argument) * 1_000, undefined, { ref: false });
    const item = itemOf(`${id}_${String(index)}`, step);
    if (item === undefined) continue;
    send({ type: 'response.output_item.added', output_index: index, item });
    send({ type: 'response.output_item.done', output_index: index, item });
  }
  send({ type: 'response.completed', response: { id: `resp_${id}`, usage: usageOf(steps) } });
  response.end();
}
