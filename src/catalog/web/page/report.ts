// Texts of the page. Pure.

import type { ErrorReport, Place } from "../protocol.ts";

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/** Escapes control characters, and those that change how the text around them is read. Tabs and line ends stay. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** An error as mistctl shows it (src/cli/output/report.cc). */
export function report({ message, where, because, frames, hint }: ErrorReport): string {
  const lines = [
    `error: ${message}`,
    ...(where ? placeLines(where) : []),
    ...labelled("because", because),
    ...(frames ?? []).map((frame) => `  ${frame}`),
    ...labelled("try", hint),
  ];
  return lines.join("\n") + "\n";
}

function labelled(label: string, text: string | null | undefined): string[] {
  return text ? [`  ${label}: ${String(text).trim().replaceAll("\n", "\n    ")}`] : [];
}

function placeLines({ file, line, column, text }: Place): string[] {
  const lines = [`  at ${file}${line ? `:${line}` : ""}${column ? `:${column}` : ""}`];
  if (!text || !line) return lines;
  const gutter = " ".repeat(String(line).length);
  lines.push(`    ${gutter} |`, `    ${line} | ${text.replaceAll("\t", " ")}`);
  if (column) lines.push(`    ${gutter} | ${" ".repeat(column - 1)}^`);
  return lines;
}
