// Makes the C++ source of scripts.h: node bundle.mjs DIRECTORY OUTPUT, where DIRECTORY is what tools/typescript/ensure.sh prints.
//
// Each entry and all that it imports becomes one script. The same sources give the same bytes, because the scripts' addresses are digests of
// them. Only spaces and comments are taken out: with names and statements as they were written, people can read what their browser runs after
// its developer tools indented it. OUTPUT is written only if it changes. Faults go to standard error as FILE:LINE:COLUMN: message; then the
// exit code is 1. Types aren't checked here, but by test.sh.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ENTRIES = { live: "page/live.ts", passkey: "page/passkey.ts", preview: "page/preview.ts", preview_worker: "worker/preview_worker.ts" };
const HERE = dirname(fileURLToPath(import.meta.url));

const [tools, output] = process.argv.slice(2);
if (!output) {
  console.error("usage: node bundle.mjs DIRECTORY OUTPUT");
  process.exit(2);
}
const { build } = createRequire(join(tools, "package.json"))("esbuild");

async function scriptOf(entry) {
  const { outputFiles } = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    minifyWhitespace: true,
    logLevel: "silent",
  });
  return outputFiles[0].text;
}

function functionOf(name, text) {
  if (text.includes(')~js~"')) throw new Error(`${name}: its text would end the C++ literal that holds it`);
  return `std::string_view ${name}_source() {\n  return R"~js~(${text})~js~";\n}\n`;
}

try {
  const functions = [];
  for (const [name, entry] of Object.entries(ENTRIES)) functions.push(functionOf(name, await scriptOf(entry)));
  const source = `// Made by src/catalog/web/bundle.mjs.\n#include "catalog/web/scripts.h"\n\nnamespace mist::catalog {\n${functions.join("")}}  // namespace mist::catalog\n`;
  if (!existsSync(output) || readFileSync(output, "utf8") !== source) writeFileSync(output, source);
} catch (error) {
  const lines = (error.errors ?? []).map(({ location, text }) => (location ? `${join(HERE, location.file)}:${location.line}:${location.column + 1}: ${text}` : text));
  console.error(lines.length > 0 ? lines.join("\n") : String(error.message));
  process.exitCode = 1;
}
