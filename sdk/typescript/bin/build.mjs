#!/usr/bin/env node
// Makes the component of a package: mistletoe-build [DIRECTORY] [-o FILE]; `mistctl package build DIRECTORY` calls it.
//
// 1. tsc, if the package has typescript and a tsconfig.json: types are checked.
// 2. esbuild: one module of the package's entry (`main` in package.json, else src/main.ts) and all that it imports. What Node's
//    own modules are asked for at load time is in shims/.
// 3. componentize-qjs: QuickJS with that module loaded, as a component of wit/.
//
// Nothing is fetched. Faults go to standard error as FILE:LINE:COLUMN: message; then the exit code is 1.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const sdk = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const SHIMS = { crypto: "crypto.js", fs: "none.js", os: "none.js", path: "path.js", child_process: "none.js", util: "none.js", url: "none.js" };

const LEAST_NODE = 20;

class Fault extends Error {}

/** Both hold programs for this platform, which `npm ci` fetches: without them Node would only say that it can't find a file. */
async function tools() {
  if (Number(process.versions.node.split(".")[0]) < LEAST_NODE)
    throw new Fault(`Node.js ${LEAST_NODE} or newer is needed, this is ${process.versions.node}`);
  try {
    const [{ build }, { componentize }] = await Promise.all([import("esbuild"), import("componentize-qjs")]);
    return { build, componentize };
  } catch (error) {
    throw new Fault(`npm ci has not installed what the build needs: ${error.message}`);
  }
}

function parse(words) {
  const options = { directory: ".", output: "package.wasm" };
  for (let i = 0; i < words.length; i++) {
    if (words[i] === "-o" && i + 1 < words.length) options.output = words[++i];
    else if (!words[i].startsWith("-")) options.directory = words[i];
    else throw new Fault("usage: mistletoe-build [DIRECTORY] [-o FILE]");
  }
  return { directory: resolve(options.directory), output: resolve(options.output) };
}

function entry(directory) {
  const named = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")).main ?? "src/main.ts";
  const file = join(directory, named);
  if (!existsSync(file)) throw new Fault(`there is no ${named}, which exports generate`);
  return file;
}

/** Where typescript is there, and only there: bundling alone removes types without looking at them. */
function checkTypes(directory) {
  if (!existsSync(join(directory, "tsconfig.json"))) return;
  let tsc;
  try {
    const manifest = createRequire(join(directory, "package.json")).resolve("typescript/package.json");
    tsc = join(dirname(manifest), JSON.parse(readFileSync(manifest, "utf8")).bin.tsc);
  } catch {
    return;
  }
  try {
    execFileSync(process.execPath, [tsc, "--noEmit", "--pretty", "false", "-p", directory], { cwd: directory, stdio: "pipe" });
  } catch (error) {
    throw new Fault((String(error.stdout) + String(error.stderr)).trim());
  }
}

async function bundle(build, directory) {
  const main = "./" + relative(directory, entry(directory));
  const loading = `import { run } from ${JSON.stringify(join(sdk, "src/component.ts"))};
import * as user from ${JSON.stringify(main)};
if (typeof user.generate !== "function") throw new Error(${JSON.stringify(`${main} exports no function generate`)});
export const info = () => "";
export const generate = (input) => run(user.generate, input);`;
  const shims = Object.entries(SHIMS).flatMap(([name, file]) => [name, `node:${name}`].map((each) => [each, join(sdk, "shims", file)]));
  try {
    const result = await build({
      stdin: { contents: loading, resolveDir: directory, sourcefile: "package", loader: "js" },
      absWorkingDir: directory,
      bundle: true,
      write: false,
      format: "esm",
      target: "es2022",
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["import"],
      external: ["mistletoe:*", "wasi:*"],
      alias: Object.fromEntries(shims),
      banner: { js: 'globalThis.process ??= { env: {}, argv: [], cwd: () => "/", versions: {} };\nvar __dirname = "/", __filename = "/package.js";' },
      legalComments: "none",
      logLevel: "silent",
    });
    return result.outputFiles[0].text;
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    const lines = error.errors.map(({ location, text }) => (location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text));
    throw new Fault(lines.join("\n"));
  }
}

try {
  const { directory, output } = parse(process.argv.slice(2));
  const { build, componentize } = await tools();
  checkTypes(directory);
  const jsSource = await bundle(build, directory);
  const { component } = await componentize({ witPath: join(sdk, "wit"), world: "guest", jsSource, sync: true });
  writeFileSync(output, component);
} catch (error) {
  console.error(error instanceof Fault ? error.message : String(error.message ?? error));
  process.exitCode = 1;
}
