// Runs the engine's module under Node, independent of Mistletoe's own host:
//
//   node run-guest.mjs MODULE [--random N]
//
// It has no host whom it could ask. Standard input is a line {"tree": directory, "input": document}; standard output gets the result document. With --random,
// random_get gives bytes that depend on N instead of random ones.

import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WASI } from "node:wasi";

const [path, , seed] = process.argv.slice(2);
const { tree, input } = JSON.parse(readFileSync(0, "utf8"));
const directory = mkdtempSync(join(tmpdir(), "mistletoe-kustomize-"));
const inputPath = join(directory, "input");
writeFileSync(inputPath, JSON.stringify(input) + "\n");
const [stdin, stderr] = [openSync(inputPath, "r"), openSync("/dev/null", "w")];
rmSync(directory, { recursive: true });

const wasi = new WASI({ version: "preview1", stdin, stderr, returnOnExit: true, preopens: { "/package": tree } });
const imports = wasi.getImportObject();
let instance;
const refusal = Buffer.from('{"error":{"kind":"Invalid","message":"there is no host that renders charts"}}');
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
instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), imports);
wasi.initialize(instance);
instance.exports.mistletoe_generate();
