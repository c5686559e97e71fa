/** A text of others as one line of a message: it cannot open a part of its own (WM12). */
export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** A longer text of others as data: quoted, it cannot open a part of its own (WM12). */
export const quoted = (text: string): string => text.replaceAll(/^/gm, '> ');
