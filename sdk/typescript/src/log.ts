// Lines for the user, shown with their level: 200 lines of 4,096 bytes each.

import { ask } from "./host.ts";

type Level = "debug" | "info" | "warn";

function line(level: Level, message: string): void {
  try {
    ask({ op: "log", level, message });
  } catch {
    // A package doesn't fail because nobody listens.
  }
}

/** What helps to understand a package that misbehaves. */
export const debug = (message: string): void => line("debug", message);
/** What the user may want to know. */
export const info = (message: string): void => line("info", message);
/** What the user should know. */
export const warn = (message: string): void => line("warn", message);
