import * as assert from "node:assert/strict";
import { test } from "node:test";

import { encode, toBase64 } from "../worker/bytes.ts";
import { masked, Secrets } from "../worker/secrets.ts";

const KEYS = { ed25519: { value: "ED" }, ecdsa: { value: "EC" } };
const get = (request: object, secrets = new Secrets(KEYS)) => secrets.get({ name: "admin", ...request }).value;

test("each kind has its form", () => {
  assert.match(get({ kind: "password" }), /^[a-zA-Z0-9]{24}$/);
  assert.match(get({ kind: "password", length: 8, alphabet: "xy" }), /^[xy]{8}$/);
  assert.match(get({ kind: "alphanumeric" }), /^[a-zA-Z0-9]{32}$/);
  assert.match(get({ kind: "hex" }), /^[0-9a-f]{64}$/);
  assert.match(get({ kind: "hex", length: 7 }), /^[0-9a-f]{7}$/);
  assert.equal(atob(get({ kind: "base64", length: 20 })).length, 20);
  assert.equal(atob(get({ kind: "bytes" })).length, 32);
  assert.match(get({ kind: "uuid" }), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.deepEqual([get({ kind: "ed25519" }), get({ kind: "ecdsa" })], ["ED", "EC"]);
});

test("a password holds what is required, if it can", () => {
  const secrets = new Secrets(KEYS);
  for (let i = 0; i < 20; ++i) {
    const value = get({ name: `p${i}`, kind: "password", length: 4, alphabet: "aB3-", require: ["lower", "upper", "digit", "symbol"] }, secrets);
    assert.equal([...value].sort().join(""), "-3Ba");
  }
  assert.match(get({ kind: "password", alphabet: "ab", require: ["upper"] }), /^[ab]{24}$/);
});

test("the same name is the same secret, and another one another", () => {
  const secrets = new Secrets(KEYS);
  assert.equal(get({ kind: "password" }, secrets), get({ kind: "hex" }, secrets));
  assert.notEqual(get({ kind: "password" }, secrets), get({ name: "b", kind: "password" }, secrets));
  assert.deepEqual([...secrets.known.keys()], ["admin", "b"]);
});

test("requests that can't be answered are refused", () => {
  const wrong: object[] = [
    { kind: "rsa" },
    {},
    { name: "", kind: "hex" },
    { name: 3, kind: "hex" },
    { name: "-a", kind: "hex" },
    { name: "a b", kind: "hex" },
    { name: "a\n", kind: "hex" },
    { name: "a".repeat(129), kind: "hex" },
    { kind: "password", alphabet: "" },
    { kind: "password", alphabet: 3 },
    { kind: "password", length: -1 },
    { kind: "hex", length: 1e9 },
    { kind: "hex", length: 1.5 },
    { kind: "base64", length: "8" },
  ];
  assert.match(get({ name: "a/b.c_d-" + "e".repeat(120), kind: "hex" }), /^[0-9a-f]{64}$/);
  for (const request of wrong) assert.throws(() => get(request), /secret\.get/, JSON.stringify(request));
});

test("names stand in the place of secrets, plain and in base64", () => {
  const key = "-----BEGIN PRIVATE KEY-----\nMHcCAQEEIAlineoftheprivatekey\n-----END PRIVATE KEY-----\n";
  const secrets = new Map([["admin", { value: "s3cr3t$&" }], ["server", { value: key }], ["pin", { value: "123" }]]);
  const inBase64 = (text: string) => toBase64(encode(text));
  const block = key.replaceAll("\n", "\n  ");
  const text = `a: s3cr3t$&\nb: ${inBase64("s3cr3t$&")}\nurl: https://u:s3cr3t$&@db\nkey: ${inBase64(key)}\nd: 123\nblock: |\n  ${block}`;
  assert.equal(
    masked(text, secrets),
    "a: (secret admin)\nb: (secret admin)\nurl: https://u:(secret admin)@db\nkey: (secret server)\nd: 123\n" +
      "block: |\n  -----BEGIN PRIVATE KEY-----\n  (secret server)\n  -----END PRIVATE KEY-----\n  ",
  );
});

test("a secret that holds another is masked first, and a name is no pattern", () => {
  const secrets = new Map([["a", { value: "abcd" }], ["$&", { value: "abcdefgh" }]]);
  assert.equal(masked("abcdefgh abcd", secrets), "(secret $&) (secret a)");
  assert.equal(masked("nothing", new Map()), "nothing");
});
