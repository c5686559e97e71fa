import { z } from 'zod';

/** Tools that a run used, as its provider told: facts beside what its agent claims (CK-6). */
export const toolsSchema = z.strictObject({
  ran: z.int(),
  failed: z.int(),
  /** The last ones, oldest first: a command and its exit code, or the kind of another tool. */
  last: z.array(z.strictObject({ tool: z.string(), exitCode: z.int().nullable(), isFailed: z.boolean() })).max(20),
});
export type Tools = z.infer<typeof toolsSchema>;
