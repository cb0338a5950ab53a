// The files of a result as one text of YAML. Pure.

import { byBytes } from "./bytes.ts";

/** As `mistctl generate -o raw` prints them. */
export function printed(files: ReadonlyMap<string, string>): string {
  const sorted = [...files].sort(([a], [b]) => byBytes(a, b));
  return sorted.map(([path, text]) => (sorted.length > 1 ? `---\n# ${path}\n` : "") + text + (text.endsWith("\n") ? "" : "\n")).join("");
}

/** Documents that are objects; the items of a list count. A look at the text, for people: no parser of YAML is here. */
export function countObjects(text: string): number {
  let count = 0;
  for (const document of text.split(/^---(?=\s|$).*$/m)) {
    if (!/^\s*(#.*)?\S/m.test(document.replace(/^\s*#.*$/gm, ""))) continue;
    if (/^kind: *["']?MistOrder\b/m.test(document)) continue;
    const items = /^kind: *["']?\w*List["']?\s*$/m.test(document) ? document.match(/^\s{0,2}- (?=\S)/gm) : null;
    count += items?.length ?? 1;
  }
  return count;
}
