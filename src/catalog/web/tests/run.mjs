// Runs *.test.ts beside it under Node, which can't read TypeScript by itself: node run.mjs DIRECTORY, which tools/typescript/ensure.sh prints.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { build } = createRequire(join(process.argv[2], "package.json"))("esbuild");
const outdir = mkdtempSync(join(tmpdir(), "mistletoe-"));
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({
  entryPoints: names.map((name) => join(here, name)),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "es2022",
  sourcemap: "inline",
  loader: { ".cc": "text" },
  outdir,
  outExtension: { ".js": ".mjs" },
});
run({ files: names.map((name) => join(outdir, name.replace(/ts$/, "mjs"))), concurrency: true })
  .on("test:fail", () => (process.exitCode = 1))
  .once("end", () => rmSync(outdir, { recursive: true }))
  .compose(spec)
  .pipe(process.stdout);
