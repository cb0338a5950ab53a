// Calling other packages: what `spec.dependencies` of mistletoe.yaml declares, rendered by the host.

import { ask } from "./host.ts";
import { toPlain } from "./yaml.ts";

/** What a called package gave. */
export interface Called<Exports = any> {
  /** Path: YAML. `Output.withFilesFrom` takes them all. */
  readonly files: ReadonlyMap<string, string>;
  /** Checked by the host against the called package's `spec.exports`. */
  readonly exports: Exports;
  /** What it says to its user; empty if nothing. */
  readonly message: string;
}

/**
 * Renders the package that `spec.dependencies` calls `name`, with `input` as its `data`. Throws if it isn't declared, refuses
 * the input or fails by itself: the error names the path of packages.
 */
export function call<Exports = any>(name: string, input: object): Called<Exports> {
  const answer = ask({ op: "package.call", package: name, input: toPlain(input, `can't write the input of ${name}`) });
  return { files: new Map(Object.entries(answer.files)), exports: answer.exports, message: answer.message ?? "" };
}
