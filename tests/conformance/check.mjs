// Checks under Node, without Mistletoe's own host, that all conformance guests describe the same Namespace as
// packages/namespace-example:
//
//   node tests/conformance/check.mjs $(packages/build.sh) $(tests/conformance/build.sh)

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { runGuest } from "./run-guest.mjs";

const NAMES = ["my-namespace", "a", "shop-2"];

/** Enough of a YAML reader for these guests: JSON, or mappings of plain, quoted and literal texts. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return parseMapping(text.split("\n").filter((line) => line.trim() !== ""), 0);
  }
}

function parseMapping(lines, indent) {
  const object = {};
  while (lines.length > 0 && lines[0].search(/\S/) === indent) {
    const [, key, value] = lines.shift().match(/^ *([^:]+): ?(.*)$/);
    if (value === "|") {
      const inner = lines[0].search(/\S/);
      const block = [];
      while (lines.length > 0 && lines[0].search(/\S/) >= inner) block.push(lines.shift().slice(inner));
      object[key] = block.join("\n") + "\n";
    } else if (value === "") {
      object[key] = parseMapping(lines, lines[0].search(/\S/));
    } else {
      object[key] = value.startsWith('"') ? JSON.parse(value) : value;
    }
  }
  return object;
}

/** The objects in a guest's output, which is a result document or plain Kubernetes YAML. */
function objects(output) {
  const document = parse(output);
  if (document.kind !== "MistResult") return [document];
  if (document.data.result !== "Ok") throw new Error(document.data.message);
  return Object.values(document.data.files).map(parse);
}

const modules = process.argv.slice(2).flatMap((directory) =>
  readdirSync(directory)
    .filter((file) => file.endsWith(".wasm") && !/^(hello-web|mariadb|microservice|platform-example|platform-of-crates|postgres-credentials|redis)-/.test(file))
    .map((file) => join(directory, file)),
);
if (modules.length === 0) throw new Error("usage: node check.mjs DIRECTORY…");

let failed = 0;
for (const module of modules) {
  const wrong = NAMES.filter((name) => {
    const expected = [{ apiVersion: "v1", kind: "Namespace", metadata: { name } }];
    return !isDeepStrictEqual(objects(runGuest(module, { name }).result), expected);
  });
  failed += wrong.length;
  console.log(`${wrong.length === 0 ? "ok    " : "FAILED"} ${module}`);
}
process.exitCode = failed === 0 ? 0 : 1;
