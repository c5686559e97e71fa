import { Option, type Command } from 'commander';
import type { RunSettings } from '../client/index';
import { durationUpTo, integer } from './values';

/** Values of the flags that ask for attempts in a row. */
export interface DeliveryOptions {
  readonly supervise?: boolean;
  readonly tokens?: number;
  readonly timeBudget?: number;
  readonly attempts?: number;
  readonly progress?: number;
  readonly verify?: boolean;
  readonly onUsageLimit?: 'wait' | 'fail';
}

const MAX_TOKENS = 1_000_000_000_000;

/** Adds the flags of a supervised delivery, and what a usage limit does. */
export function addDeliveryOptions(command: Command): Command {
  return command
    .option('--supervise', 'attempts in a row, each with a checkpoint, until the acceptance criteria are proven')
    .option('--tokens <n>', 'supervised: most tokens in all', integer(1, MAX_TOKENS))
    .option('--time-budget <duration>', 'supervised: longest run time in all, like 4h', durationUpTo('365d'))
    .option('--attempts <n>', 'supervised: most attempts (default: 20)', integer(1, 1_000))
    .option('--progress <n>', 'supervised: most attempts in a row without progress (default: 3)', integer(1, 100))
    .option('--verify', 'supervised: a review in a thread of its own before it counts')
    .addOption(new Option('--on-usage-limit <what>', 'what it does then (default: wait)').choices(['wait', 'fail']));
}

/** The part of a run's settings that these flags describe; a budget asks for supervision as well. */
export function deliveryOf(options: DeliveryOptions): Pick<RunSettings, 'supervise' | 'onUsageLimit'> {
  const { supervise, tokens, timeBudget, attempts, progress, verify, onUsageLimit } = options;
  const budget = {
    ...(tokens !== undefined && { tokens }),
    ...(timeBudget !== undefined && { timeMs: timeBudget }),
    ...(attempts !== undefined && { attempts }),
    ...(progress !== undefined && { progress }),
  };
  const isSupervised = supervise === true || verify === true || Object.keys(budget).length > 0;
  return {
    ...(isSupervised && { supervise: { budget, ...(verify === true && { verify }) } }),
    ...(onUsageLimit !== undefined && { onUsageLimit }),
  };
}
