// Why a render ends.

import type { ErrorReport } from "../protocol.ts";

/** An error to show as mistctl shows it. */
export class Failure extends Error {
  readonly report: ErrorReport;

  constructor(message: string, details: Omit<ErrorReport, "message"> = {}) {
    super(message);
    this.report = { ...details, message };
  }
}

/** The guest called proc_exit. */
export class Exit extends Error {
  constructor(readonly code: number) {
    super("exit");
  }
}

/** Remembers why a guest was ended: one that catches the exception may go on for a while, but its result is this reason. */
export class Ending {
  reason: Failure | Exit | null = null;

  end(reason: Failure | Exit): never {
    this.reason ??= reason;
    throw reason;
  }
}

export const couldNot = (name: string, details: Omit<ErrorReport, "message">): Failure =>
  new Failure(`${name} could not be rendered`, { frames: [`while rendering ${name}`], ...details });

export const mebibytes = (bytes: number): string => `${Math.round(bytes / (1 << 20))} MiB`;

const MOST_TAIL = 16384; // characters

const LONGEST_FIELD = 20000; // characters: a tail with the words before it
const MOST_FRAMES = 5;

/** Short enough for a page to show at once, whatever the package put into it. */
export function bounded({ message, where, because, hint, frames }: ErrorReport): ErrorReport {
  const cut = (text: string) => clipped(text, LONGEST_FIELD);
  return {
    message: cut(message),
    where: where ? { ...where, file: cut(where.file), text: cut(where.text) } : null,
    because: because ? cut(because) : null,
    hint: hint ? cut(hint) : null,
    frames: (frames ?? []).slice(0, MOST_FRAMES).map(cut),
  };
}

export const clipped = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most)}…`);

/** The end of a long output, from the beginning of a line. */
export function tail(text: string): string {
  const whole = text.trim();
  return whole.length <= MOST_TAIL ? whole : `… ${whole.slice(-MOST_TAIL).replace(/^[^\n]*\n/, "")}`;
}
