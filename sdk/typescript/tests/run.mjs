// Runs tests/*.test.ts under Node, which can't read TypeScript by itself: node tests/run.mjs

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const outdir = mkdtempSync(join(tmpdir(), "mistletoe-"));
const names = readdirSync(here).filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: names.map((name) => join(here, name)), bundle: true, platform: "node", format: "esm", outdir, outExtension: { ".js": ".mjs" } });
run({ files: names.map((name) => join(outdir, name.replace(/ts$/, "mjs"))), concurrency: true })
  .on("test:fail", () => (process.exitCode = 1))
  .once("end", () => rmSync(outdir, { recursive: true }))
  .compose(spec)
  .pipe(process.stdout);
