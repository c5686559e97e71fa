import { z } from 'zod';
import { checkpointSchema, verdictSchema, type ReportKind } from '../../contract/checkpoint';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** What strict schemas of models do not take: they shape a message, and what it holds is checked here. */
const UNSUPPORTED = new Set(['$schema', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minimum', 'maximum']);

/** The JSON schemas by which a provider is asked for a report, one for each kind. */
export const REPORT_SCHEMAS: Record<ReportKind, Json> = {
  checkpoint: plain(z.toJSONSchema(checkpointSchema) as Json),
  verdict: plain(z.toJSONSchema(verdictSchema) as Json),
};

function plain(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(plain);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key]) => !UNSUPPORTED.has(key))
      .map(([key, value]) => [key, plain(value)]),
  );
}
