import * as assert from "node:assert/strict";
import { test } from "node:test";

import { START_EXPORT, withCallableStart } from "../worker/start_function.ts";
import { programBytes, TRAP } from "./assemble.ts";

const exportsOf = (bytes: Uint8Array<ArrayBuffer>) => WebAssembly.Module.exports(new WebAssembly.Module(bytes)).map(({ name }) => name);

test("a start function becomes an export, and runs no more by itself", () => {
  const module = programBytes(["a: 1\n"], { _start: () => [], begin: () => TRAP }, { start: "begin" });
  const callable = withCallableStart(module);
  assert.deepEqual(exportsOf(callable), [...exportsOf(module), START_EXPORT]);
  const nothing = () => 0;
  const imports = { wasi_snapshot_preview1: { fd_write: nothing, proc_exit: nothing, random_get: nothing }, mistletoe_v1: { request: nothing } };
  assert.throws(() => new WebAssembly.Instance(new WebAssembly.Module(module), imports), WebAssembly.RuntimeError);
  const { [START_EXPORT]: start } = new WebAssembly.Instance(new WebAssembly.Module(callable), imports).exports;
  assert.throws(start as () => void, WebAssembly.RuntimeError);
  assert.deepEqual(withCallableStart(callable), callable);
});

test("the list of exports may grow by a byte of its length", () => {
  const many = Object.fromEntries(Array.from({ length: 126 }, (_, i) => [`f${i}`, () => []]));
  const module = programBytes([], { ...many, begin: () => [] }, { start: "begin" });
  assert.equal(exportsOf(withCallableStart(module)).length, 129);
});

test("what has no start function, and what is no module, stays as it is", () => {
  const module = programBytes([], { _start: () => [] });
  assert.equal(withCallableStart(module), module);
  const started = programBytes([], { _start: () => [], begin: () => [] }, { start: "begin" });
  for (let length = 0; length < started.length; ++length) {
    const cut = started.slice(0, length);
    const made = withCallableStart(cut);
    assert.ok(made === cut || made.length > cut.length, String(length));
  }
  for (const bytes of [[], [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 1], [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 7, 1, 0, 8, 5, 0]]) {
    const strange = Uint8Array.from(bytes);
    assert.equal(withCallableStart(strange), strange);
  }
});
