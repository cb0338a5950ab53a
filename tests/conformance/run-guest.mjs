// Runs a package module under Node, independent of Mistletoe's own host, and prints its result document:
//
//   node tests/conformance/run-guest.mjs MODULE [NAME] [VALUES_JSON]
//
// A second opinion on what a guest does: it knows the ABIs v1alpha1, v1 command and v1 reactor, and none of the limits.
// Never run a guest from tests/conformance/hostile with it.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { WASI } from "node:wasi";

const V1ALPHA1_EXPORTS = ["__mistletoe_info", "__mistletoe_alloc", "__mistletoe_dealloc", "__mistletoe_generate"];

function inputDocument(version, data) {
  const document = { apiVersion: `mistletoe.dev/${version}`, kind: "MistInput", data };
  if (version === "v1") {
    document.release = { name: data.name, namespace: "default" };
    document.capabilities = { kubeVersion: "v1.36.1", apiVersions: ["v1", "apps/v1"] };
  }
  return JSON.stringify(document);
}

function textAt(memory, pair) {
  const [address, length] = new Uint32Array(memory.buffer.slice(pair, pair + 8));
  return { address, length, text: new TextDecoder("utf-8", { fatal: true }).decode(memory.buffer.slice(address, address + length)) };
}

function runV1alpha1(module, data) {
  const { exports } = new WebAssembly.Instance(module, {});
  exports._initialize?.();
  const info = textAt(exports.memory, exports.__mistletoe_info()).text;
  const input = new TextEncoder().encode(inputDocument("v1alpha1", data));
  const address = exports.__mistletoe_alloc(input.length);
  new Uint8Array(exports.memory.buffer).set(input, address);
  let pair;
  try {
    pair = exports.__mistletoe_generate(address, input.length);
  } catch (trap) {
    const place = exports.__mistletoe_panic?.value;
    const words = place && textAt(exports.memory, place).text;
    throw new Error(words ? `${trap.message} (${words})` : trap.message);
  }
  exports.__mistletoe_dealloc(address, input.length);
  const result = textAt(exports.memory, pair);
  exports.__mistletoe_dealloc(result.address, result.length);
  return { info, result: result.text };
}

function runV1(module, data) {
  const directory = mkdtempSync(join(tmpdir(), "mistletoe-guest-"));
  const [stdinPath, stdoutPath] = ["stdin", "stdout"].map((name) => join(directory, name));
  writeFileSync(stdinPath, inputDocument("v1", data) + "\n");
  const [stdin, stdout] = [openSync(stdinPath, "r"), openSync(stdoutPath, "w")];
  const wasi = new WASI({ version: "preview1", stdin, stdout, returnOnExit: true });
  try {
    const instance = new WebAssembly.Instance(module, wasi.getImportObject());
    let code = 0;
    if (instance.exports.mistletoe_generate) {
      wasi.initialize(instance.exports._initialize ? instance : { exports: { memory: instance.exports.memory } });
      instance.exports.mistletoe_generate();
    } else {
      code = wasi.start(instance);
    }
    if (code !== 0) throw new Error(`exit code ${code}`);
    return { result: readFileSync(stdoutPath, "utf8") };
  } finally {
    [stdin, stdout].forEach(closeSync);
    rmSync(directory, { recursive: true });
  }
}

/** Renders with `data` as the values; gives the texts `result` and, where the ABI has it, `info`. */
export function runGuest(path, data) {
  const module = new WebAssembly.Module(readFileSync(path));
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  return V1ALPHA1_EXPORTS.every((name) => names.has(name)) ? runV1alpha1(module, data) : runV1(module, data);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [path, name = "my-namespace", values = "{}"] = process.argv.slice(2);
  const { info, result } = runGuest(path, { name, ...JSON.parse(values) });
  if (info) console.log(info);
  console.log(result);
}
