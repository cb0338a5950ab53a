// Runs the engine's module under Node, independent of Mistletoe's own host:
//
//   node run-guest.mjs MODULE [--random N]
//
// Each line {"tree": directory, "input": document} of standard input is given to an instance of its own, and answered with a
// line {"result": text} or {"error": text}. The engine has no host whom it could ask. With --random, random_get gives bytes
// that depend on N, from the same ones on for each instance, instead of random ones.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WASI } from "node:wasi";

const [path, , seed] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));
const directory = mkdtempSync(join(tmpdir(), "mistletoe-kustomize-"));
process.on("exit", () => rmSync(directory, { recursive: true }));
const [inputPath, outputPath] = [join(directory, "input"), join(directory, "output")];
const refusal = Buffer.from('{"error":{"kind":"Invalid","message":"there is no host that renders charts"}}');

function answer({ tree, input }) {
  writeFileSync(inputPath, JSON.stringify(input) + "\n");
  const [stdin, stdout, stderr] = [openSync(inputPath, "r"), openSync(outputPath, "w"), openSync("/dev/null", "w")];
  try {
    const wasi = new WASI({ version: "preview1", stdin, stdout, stderr, returnOnExit: true, preopens: { "/package": tree } });
    const imports = wasi.getImportObject();
    let instance;
    imports.mistletoe_v1 = {
      request: () => refusal.length,
      response: (address) => new Uint8Array(instance.exports.memory.buffer, address, refusal.length).set(refusal),
    };
    if (seed !== undefined) {
      let state = Number(seed) >>> 0;
      imports.wasi_snapshot_preview1.random_get = (address, length) => {
        const bytes = new Uint8Array(instance.exports.memory.buffer, address, length);
        for (let i = 0; i < length; i++) {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          bytes[i] = state >>> 24;
        }
        return 0;
      };
    }
    instance = new WebAssembly.Instance(module, imports);
    wasi.initialize(instance);
    instance.exports.mistletoe_generate();
    return { result: readFileSync(outputPath, "utf8") };
  } catch (error) {
    return { error: String(error.stack ?? error) };
  } finally {
    [stdin, stdout, stderr].forEach(closeSync);
  }
}

for await (const line of createInterface({ input: process.stdin })) process.stdout.write(JSON.stringify(answer(JSON.parse(line))) + "\n");
