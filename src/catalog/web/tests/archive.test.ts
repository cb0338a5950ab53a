import * as assert from "node:assert/strict";
import { test } from "node:test";

import { unpacked, untar } from "../worker/archive.ts";
import { decode, encode, joined } from "../worker/bytes.ts";
import { Failure } from "../worker/failure.ts";
import { END, entry, gzip, tarOf } from "./tar.ts";

const texts = (files: ReturnType<typeof untar>) => Object.fromEntries([...files].map(([path, bytes]) => [path, decode(bytes)]));

test("an archive gives its regular files", () => {
  assert.deepEqual(texts(untar(tarOf({ "a.yaml": "a: 1\n", "b/é.yaml": "", c: "x".repeat(513) }))), { "a.yaml": "a: 1\n", "b/é.yaml": "", c: "x".repeat(513) });
  assert.equal(untar(END).size, 0);
  assert.equal(untar(new Uint8Array(0)).size, 0);
  assert.equal(untar(joined([entry("link", new Uint8Array(0), "2"), entry("directory", new Uint8Array(0), "5"), END])).size, 0);
});

test("a long path is in an extended header, which belongs to one file", () => {
  const path = "deep/".repeat(40) + "file.yaml";
  const rest = ` path=${path}\n`;
  const header = encode(`${rest.length + 3}${rest}`);
  const tar = joined([entry("pax", header, "x"), entry("short", encode("a")), entry("next", encode("b")), END]);
  assert.deepEqual(texts(untar(tar)), { [path]: "a", next: "b" });
});

test("sizes that lead out of an archive end it", () => {
  const alone = entry("a", encode("abc"), "0", 0o7777777777);
  assert.deepEqual(texts(untar(alone)), { a: decode(alone.subarray(512)) });
  const cut = tarOf({ a: "abc", b: "x".repeat(600) });
  assert.deepEqual(Object.keys(texts(untar(cut.subarray(0, 1024 + 511)))), ["a"]);
  assert.equal(untar(cut.subarray(0, 511)).size, 0);
});

test("a name that isn't UTF-8 is an error", () => {
  const tar = tarOf({ a: "" });
  tar[0] = 0xff;
  assert.throws(() => untar(tar), TypeError);
});

test("what unpacks to more than its limit isn't unpacked", async () => {
  const packed = await gzip(new Uint8Array(1 << 20));
  assert.equal((await unpacked(packed, 1 << 20)).length, 1 << 20);
  await assert.rejects(unpacked(packed, (1 << 20) - 1), new Failure("the package is too large once it is unpacked"));
  await assert.rejects(unpacked(packed.subarray(0, 100), 1 << 20));
  await assert.rejects(unpacked(encode("no gzip"), 1 << 20));
});
