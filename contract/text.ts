import { z } from 'zod';

/** Length of a text in UTF-8 bytes; plain code, because the workflow sandbox types know no encoder. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/** Bytes that a run may hand on to the next one; the server's limit is 2 MB, and what is carried is bounded below it. */
export const CARRIED_BYTES = 1_950_000;

/** Cuts a text to at most `max` UTF-8 bytes, on a character edge. */
export function cutUtf8(text: string, max: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += utf8Length(character);
    if (bytes > max) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Makes any text storable and at most `units` UTF-16 units long, on a character edge. */
export function bounded(given: string, units: number): string {
  const storable = given.replaceAll('\u0000', ' ').replaceAll(LONE_SURROGATES, '\ufffd');
  const kept = storable.slice(0, units);
  return storable.length > units && HIGH_SURROGATE_LAST.test(kept) ? kept.slice(0, -1) : kept;
}

const LONE_SURROGATES = /\p{Surrogate}/gu;
const HIGH_SURROGATE_LAST = /[\ud800-\udbff]$/;
const LONE_SURROGATE = /\p{Surrogate}/u;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

// eslint-disable-next-line no-control-regex -- control characters are what it takes out
const UNPRINTABLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|\p{Surrogate}/gu;

/** A text of several lines without control characters but line feeds and tabs, and without halves of surrogate pairs. */
export const printable = (text: string, instead = ''): string => text.replaceAll(UNPRINTABLE, instead);

/** Whether a text survives a round trip through JSON, UTF-8 and a database: no NUL, no lone surrogate. */
function isStorable(text: string): boolean {
  return !text.includes('\u0000') && !LONE_SURROGATE.test(text);
}

/** Text of at most `maxBytes` UTF-8 bytes that can be stored as it is. */
export const text = (maxBytes: number) =>
  z
    .string()
    .refine(isStorable, { error: 'holds a NUL character or half a surrogate pair' })
    .refine((value) => utf8Length(value) <= maxBytes, { error: `is longer than ${String(maxBytes)} bytes` });

/** One line of text with something in it, of at most `maxCharacters` characters. */
export const line = (maxCharacters: number) =>
  z
    .string()
    .refine(isStorable, { error: 'holds a NUL character or half a surrogate pair' })
    .refine((value) => value.trim() !== '', { error: 'is blank' })
    .refine((value) => [...value].length <= maxCharacters, {
      error: `is longer than ${String(maxCharacters)} characters`,
    });

/** An id that is safe in a workflow id: 1 to 128 characters, no `/`, no `..`, no control character, no leading `-`. */
export const id = z
  .string()
  .min(1, { error: 'is empty' })
  .refine((value) => [...value].length <= 128, { error: 'is longer than 128 characters' })
  .refine((value) => !value.includes('/') && !value.includes('..'), { error: "holds '/' or '..'" })
  .refine((value) => !CONTROL.test(value) && isStorable(value), { error: 'holds a control character' })
  .refine((value) => value.trim() === value && !value.startsWith('-'), {
    error: 'begins or ends with a blank, or begins with a dash',
  });

/** A thread of Codex: a UUID. */
export const threadId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A moment as ISO 8601 in UTC, milliseconds included. */
export const instant = z.iso.datetime();
