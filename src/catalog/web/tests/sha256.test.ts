import * as assert from "node:assert/strict";
import { test } from "node:test";

import { encode, fromHex, joined, toHex } from "../worker/bytes.ts";
import { RandomStream } from "../worker/random_stream.ts";
import { hmac, sha256 } from "../worker/sha256.ts";

test("SHA-256 matches the vectors of FIPS 180", () => {
  const vectors = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ["a".repeat(1_000_000)]: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
  };
  for (const [text, digest] of Object.entries(vectors)) assert.equal(toHex(sha256(encode(text))), digest, text.slice(0, 60));
});

test("SHA-256 pads texts of every length as crypto.subtle does", async () => {
  for (let length = 0; length < 200; ++length) {
    const bytes = new Uint8Array(length).map((_, i) => i * 7);
    assert.equal(toHex(sha256(bytes)), toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))), String(length));
  }
});

test("HMAC matches the vectors of RFC 4231, and takes an empty key", () => {
  assert.equal(toHex(hmac(new Uint8Array(20).fill(0x0b), encode("Hi There"))), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  assert.equal(toHex(hmac(encode("Jefe"), encode("what do ya want for nothing?"))), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  const long = encode("Test Using Larger Than Block-Size Key - Hash Key First");
  assert.equal(toHex(hmac(new Uint8Array(131).fill(0xaa), long)), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  assert.equal(toHex(hmac(new Uint8Array(0), new Uint8Array(0))), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
});

const COUNTING = new Uint8Array(32).map((_, i) => i);

// Those of src/crypto/random_stream_test.cc.
test("random bytes match the vectors of version 1", () => {
  const unnamed = "d0def479cd7ce2073d4ced497a87101b580850aa51f1d6aca786fc001e582ea6177094cca05a99e3";
  assert.equal(toHex(new RandomStream(COUNTING, "").take(40)), unnamed);
  const main = "d84559a54359e1d0cdf5e747051db278c28958cb522b32c4f2419204e59c8c10cd1737eaaba2b3a7";
  assert.equal(toHex(new RandomStream(COUNTING, "main").take(40)), main);
  const zero = "919f8ef2ceecf0be516791f2f92ff63b73638dd1d4800b867e257fe1f153d1a3acb3e0efc4a6cd99";
  assert.equal(toHex(new RandomStream(new Uint8Array(32), "main").take(40)), zero);
});

test("random bytes are the same in any pieces", () => {
  const whole = new RandomStream(COUNTING, "x").take(600);
  const pieces = new RandomStream(COUNTING, "x");
  const parts = [];
  for (let size = 0, left = 600; left > 0; left -= size) {
    size = Math.min(left, (size + 7) % 71);
    parts.push(pieces.take(size));
  }
  assert.deepEqual(joined(parts), whole);
});

test("bytes are read from hexadecimal digits", () => {
  assert.deepEqual(fromHex("00ff10"), Uint8Array.of(0, 255, 16));
  assert.deepEqual(fromHex(""), new Uint8Array(0));
});
