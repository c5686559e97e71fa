import { Random } from '../../helpers/random';
import { judge, type Seen } from './judgement';
import { ordersOf } from './matrix';
import { POINTS } from './points';

const START = { attemptId: 'a', pid: 1, thread: 't' };
const AGAIN = { attemptId: 'b', pid: 2, thread: 't' };
const words = (threadId: string | null, isFinished: boolean) => ({ threadId, isFinished });
const rest = (status: string, attention = 'none') => ({ status, attention, code: null, tookMs: 1 });

/** A task whose first attempt was interrupted and whose second one completed it. */
const GOOD: Seen = {
  starts: [START, AGAIN],
  doubles: [],
  rests: [rest('in_progress', 'recovery'), rest('completed')],
  attempts: [
    { attemptId: 'a', threadId: 't', spawns: 1, outcome: 'interrupted_owner' },
    { attemptId: 'b', threadId: 't', spawns: 1, outcome: 'completed' },
  ],
  receipts: [{ receiptId: 'r', attemptId: 'b' }],
  words: new Map([
    ['a', words('t', false)],
    ['b', words('t', true)],
  ]),
  unkept: [],
  left: 0,
};
const [FIRST, SECOND] = GOOD.attempts as [NonNullable<Seen['attempts']>[0], NonNullable<Seen['attempts']>[0]];
const kindsOf = (exact: Partial<Seen>) => [...new Set(judge({ ...GOOD, ...exact }).map(({ kind }) => kind))];

describe('the judgement of a task after a kill', () => {
  it('finds nothing in a task that was interrupted, told so, and was completed in its thread', () => {
    expect(judge(GOOD)).toEqual([]);
  });

  it('lets a task go on in a new thread only where the provider did not keep the old one', () => {
    const moved = {
      attempts: [FIRST, { ...SECOND, threadId: 'u' }],
      words: new Map([
        ['a', words('t', false)],
        ['b', words('u', true)],
      ]),
    };
    expect(kindsOf({ ...moved, unkept: ['t'] })).toEqual([]);
    expect(kindsOf(moved)).toEqual(['lost']);
  });

  it.each<[string, string, Partial<Seen>]>([
    ['second', 'an attempt that was started twice', { starts: [START, START, AGAIN] }],
    ['second', 'a start beside a living one', { doubles: [{ attemptId: 'b', what: 'workspace' }] }],
    ['stuck', 'a task that does not settle', { rests: [rest('in_progress', 'recovery'), null] }],
    ['stuck', 'a process that does not end', { left: 1 }],
    ['stuck', 'a record that does not answer', { attempts: null }],
    ['lost', 'a task that nobody can complete', { rests: [rest('failed')] }],
    ['lost', 'a start that the record does not know', { starts: [START, AGAIN, { ...AGAIN, attemptId: 'c' }] }],
    ['lost', 'an attempt without an outcome', { attempts: [{ ...FIRST, outcome: null }, SECOND] }],
    ['lost', 'a start that is told as none', { attempts: [{ ...FIRST, spawns: 0 }, SECOND] }],
    ['lost', 'a completion that nobody said', { words: new Map([['b', words('t', false)]]) }],
    [
      'lost',
      'another thread than the one that the provider named',
      { attempts: [{ ...FIRST, threadId: 'u' }, SECOND] },
    ],
    [
      'lost',
      'a new thread where there was one',
      {
        attempts: [FIRST, { ...SECOND, threadId: 'u' }],
        words: new Map([
          ['a', words('t', false)],
          ['b', words('u', true)],
        ]),
      },
    ],
    ['lost', 'a result without a receipt', { receipts: [] }],
    ['lost', 'a receipt that is there twice', { receipts: [...GOOD.receipts, ...GOOD.receipts] }],
  ])('calls %s: %s', (kind, _what, exact) => {
    expect(kindsOf(exact)).toEqual([kind]);
  });
});

describe('the orders of a matrix', () => {
  const orders = (count: number) => ordersOf(count, { random: new Random(7), point: undefined, isCodex: false });

  it('take every point once before any twice, and every pair of point and target', () => {
    const pairs = orders(400).flatMap(({ point, target }) => (point === null ? [] : [`${point.name}/${target}`]));
    const names = pairs.slice(0, POINTS.length).map((pair) => pair.split('/')[0]);
    expect(new Set(names).size).toBe(POINTS.length);
    const all = POINTS.flatMap(({ name, targets }) => targets.map((target) => `${name}/${target}`));
    expect(new Set(pairs.slice(0, all.length))).toEqual(new Set(all));
  });

  it('are the same for the same seed, and have moments of chance', () => {
    expect(orders(40)).toEqual(orders(40));
    expect(orders(40).filter(({ point }) => point === null)).toHaveLength(10);
  });
});
