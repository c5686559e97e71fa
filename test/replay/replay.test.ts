import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WORKFLOW } from '../../contract/names';
import { parseHistory, replay } from '../helpers/replay';
import { root } from '../helpers/root';

const folder = join(root, 'test', 'replay', 'histories');
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));

describe('recorded histories', () => {
  it.each(Object.values(WORKFLOW))('exist for %s', (workflow) => {
    expect(files.filter((file) => file.startsWith(`${workflow}/`))).not.toHaveLength(0);
  });

  it.each(files)('replay: %s', async (file) => {
    await replay(parseHistory(readFileSync(join(folder, file), 'utf8')));
  });

  it.each([
    ['an empty file', ''],
    [
      'a history of somebody else',
      '{"events":[{"workflowExecutionStartedEventAttributes":{"workflowType":{"name":"x"}}}]}',
    ],
    ['events without their names', '[{"eventId":1}]'],
  ])('are never green on %s (P70)', (_, json) => {
    expect(() => parseHistory(json)).toThrow();
  });

  it('are never green on a history that was cut in the middle of a decision (P70)', async () => {
    const file = files.find((name) => name.startsWith('dispatchTask/')) ?? '';
    const history = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { events: object[] };
    const cut = history.events.filter((event) => !('activityTaskScheduledEventAttributes' in event));
    await expect(replay({ ...history, events: cut })).rejects.toThrow();
  });
});
