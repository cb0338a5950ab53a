import * as assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode } from "../worker/bytes.ts";
import { bounded, Failure, tail } from "../worker/failure.ts";
import { countObjects, printed } from "../worker/objects.ts";
import { afterScript } from "../worker/pre_install.ts";
import { isSafe, placeOf, resultOf } from "../worker/result.ts";
import { filesOf } from "./tar.ts";

const FILES = filesOf({ "a.yaml": "one\ntwo\r\n", "scripts/pre-install.py": "", "templates/x.j2": "", "manifests/old.yaml": "old" });
const read = (document: unknown) => resultOf("shop 1.0.0", encode(typeof document === "string" ? document : JSON.stringify(document)), FILES);
const result = (data: object) => ({ apiVersion: "mistletoe.dev/v1", kind: "MistResult", data });
const refused = (document: unknown) => {
  try {
    read(document);
  } catch (failure) {
    assert.ok(failure instanceof Failure, String(failure));
    return failure.report;
  }
  throw new Error(`taken: ${JSON.stringify(document)}`);
};

test("a result has files and exports", () => {
  const { files, exports } = read(result({ result: "Ok", files: { "a.yaml": "a: 1\n" }, exports: { removed: ["x"] } }));
  assert.deepEqual([[...files], exports], [[["a.yaml", "a: 1\n"]], { removed: ["x"] }]);
  assert.equal(read(result({ result: "Ok" })).files.size, 0);
});

test("what is no result is refused", () => {
  for (const document of ["", "{", "null", "[]", "3", { kind: "MistResult" }, { kind: "MistResult", data: null }, { kind: "Other", data: { result: "Ok" } }])
    assert.equal(refused(document).message, "shop 1.0.0 could not be rendered", JSON.stringify(document));
  assert.match(String(refused("{").because), /can't be read/);
  for (const path of ["/etc/passwd", "../x", "a//b", "a\u0007", "", "a\\b", "é".repeat(600)])
    assert.match(String(refused(result({ result: "Ok", files: { [path]: "" } })).because), /can't be a file of its result/, path);
  assert.match(String(refused(result({ result: "Ok", files: { a: 3 } })).because), /can't be a file/);
  assert.match(refused(result({ result: "Ok", missing: [{ url: "https://x" }] })).message, /needs what is elsewhere/);
});

test("a package's error has its reason and its place", () => {
  const report = refused(result({ result: "Error", message: " no such value\n", where: { file: "a.yaml", line: 2, column: 3 } }));
  assert.equal(report.because, "no such value");
  assert.deepEqual(report.where, { file: "a.yaml", line: 2, column: 3, text: "two" });
  assert.deepEqual(report.frames, ["while rendering shop 1.0.0"]);
  assert.equal(refused(result({ result: "Error" })).because, "the package gave no reason");
});

test("places that can't be are nowhere", () => {
  assert.equal(placeOf("a.yaml", FILES), null);
  assert.equal(placeOf({ line: 3 }, FILES), null);
  assert.deepEqual(placeOf({ file: "a.yaml", line: 99, column: -1 }, FILES), { file: "a.yaml", line: 99, column: 0, text: "" });
  assert.deepEqual(placeOf({ file: "b", line: 1e300, column: "1", text: "x\ny" }, FILES), { file: "b", line: 0, column: 0, text: "" });
  assert.equal(isSafe("a/b.yaml"), true);
});

test("a script's files replace manifests, and nothing else", () => {
  const files = new Map([["manifests/new.yaml", "new"], ["a.yaml", "changed"]]);
  const after = afterScript("shop", FILES, { files, exports: { removed: ["manifests/old.yaml", "a.yaml", 3] } });
  assert.deepEqual([...after].map(([path, bytes]) => [path, decode(bytes)]), [["a.yaml", "one\ntwo\r\n"], ["manifests/new.yaml", "new"]]);
});

test("a script that asks, or needs a machine, is an error", () => {
  const run = (exports: object) => () => afterScript("shop", FILES, { files: new Map(), exports: exports as Record<string, unknown> });
  assert.throws(run({ question: { name: "host", prompt: "Which?" } }), { message: "shop asks for host, and nobody answered" });
  assert.throws(run({ needsHost: "subprocess", where: { file: "a.yaml", line: 1 } }), /needs the Python of a machine/);
});

test("files are printed in the order of their bytes, and end with a line", () => {
  assert.equal(printed(new Map([["b", "2"], ["a", "1\n"]])), "---\n# a\n1\n---\n# b\n2\n");
  assert.equal(printed(new Map([["b", "2"]])), "2\n");
  assert.equal(printed(new Map()), "");
});

test("objects are counted, with the items of lists", () => {
  assert.equal(countObjects("a: 1\n---\n# only a comment\n---\nb: 1\n--- # c\nc: 1\n"), 3);
  assert.equal(countObjects("kind: List\nitems:\n- a: 1\n- b: 2\n"), 2);
  assert.equal(countObjects("kind: MistOrder\nx: 1\n---\nkind: ConfigMap\ndata:\n  a: |\n    ---\n"), 1);
  assert.equal(countObjects(""), 0);
});

test("of a long output its end is shown, from the beginning of a line", () => {
  assert.equal(tail(" short\n"), "short");
  assert.equal(tail("first line\n" + "x".repeat(16000) + "\n" + "y".repeat(10000)), "… " + "y".repeat(10000));
});

test("an error of a package is cut before a page shows it", () => {
  const long = "x".repeat(16 << 20);
  const report = bounded({ message: long, because: long, hint: long, where: { file: long, line: 1, column: 2, text: long }, frames: Array.from({ length: 1000 }, () => long) });
  assert.ok(JSON.stringify(report).length < 500_000);
  assert.equal(report.because, `${"x".repeat(20000)}…`);
  assert.deepEqual(bounded({ message: "m", where: null, frames: ["f"] }), { message: "m", where: null, because: null, hint: null, frames: ["f"] });
});
