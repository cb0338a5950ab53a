import * as assert from "node:assert/strict";
import { test } from "node:test";

import { decode, encode } from "../worker/bytes.ts";
import { Ending, Failure } from "../worker/failure.ts";
import { Host } from "../worker/host.ts";
import { GuestMemory } from "../worker/memory.ts";
import { Secrets } from "../worker/secrets.ts";

const KEYS = { ed25519: { value: "ED", publicKey: "ed" }, ecdsa: { value: "EC", publicKey: "ec" } };
const SIZE = 4 << 20;
const ANSWERS = 2 << 20; // where they are put

class Guest {
  readonly buffer = new ArrayBuffer(SIZE);
  readonly memory = new GuestMemory();
  readonly streams: string[] = [];
  readonly host: Host;
  readonly #functions: ReturnType<Host["functions"]>;

  constructor(requests = 100) {
    this.memory.attach(this);
    const onStream = (name: string) => this.streams.push(name);
    this.host = new Host({ name: "shop 1.0.0", limits: { requests }, memory: this.memory, ending: new Ending(), secrets: new Secrets(KEYS), onStream });
    this.#functions = this.host.functions();
  }
  raw(at: number, length: number): any {
    const answer = this.#functions.request(at, length);
    this.#functions.response(ANSWERS);
    return JSON.parse(decode(this.memory.piece(ANSWERS, answer)!));
  }
  ask(request: unknown): any {
    const bytes = encode(typeof request === "string" ? request : JSON.stringify(request));
    this.memory.piece(0, bytes.length)!.set(bytes);
    return this.raw(0, bytes.length);
  }
}

test("a preview answers as a host without a cluster", () => {
  const guest = new Guest();
  assert.deepEqual(guest.ask({ op: "lookup", kind: "Secret", name: "a" }), { ok: null });
  assert.deepEqual(guest.ask({ op: "lookup", kind: "Secret" }), { ok: { items: [] } });
  assert.deepEqual(guest.ask({ op: "random.stream", name: "a.yaml" }), { ok: {} });
  assert.deepEqual(guest.streams, ["a.yaml"]);
  assert.deepEqual(guest.ask({ op: "secret.get", name: "key", kind: "ecdsa" }), { ok: KEYS.ecdsa });
  assert.match(guest.ask({ op: "package.call" }).error.message, /packages can't be called here/);
  assert.match(guest.ask({ op: "constructor" }).error.message, /knows no operation "constructor"/);
});

test("requests that are wrong have errors, which a guest may handle", () => {
  const guest = new Guest();
  for (const wrong of ["", "{", "null", "[]", "3", { op: "random.stream" }, { op: "random.stream", name: "a".repeat(1025) }, { op: "secret.get" }, {}])
    assert.equal(guest.ask(wrong).error.kind, "Invalid", JSON.stringify(wrong));
  guest.memory.piece(0, 2)!.fill(0xff);
  assert.equal(guest.raw(0, 2).error.kind, "Invalid");
});

test("logs are kept without what is for developers, and within bounds", () => {
  const guest = new Guest(1000);
  guest.ask({ op: "log", level: "debug", message: "no" });
  for (let i = 0; i < 300; ++i) guest.ask({ op: "log", level: "warn", message: "é".repeat(5000) });
  assert.equal(guest.host.lines.length, 200);
  assert.deepEqual(guest.host.lines[0], { level: "warn", text: "é".repeat(4096) });
});

test("a guest that asks too often, too much or from elsewhere is ended", () => {
  const often = new Guest(2);
  often.ask({ op: "lookup" });
  often.ask({ op: "lookup" });
  assert.throws(() => often.ask({ op: "lookup" }), Failure);
  assert.throws(() => new Guest().raw(0, (1 << 20) + 1), /too often, or for too much/);
  const large = new Guest();
  for (let i = 0; i < 16; ++i) large.raw(0, 1 << 20);
  assert.throws(() => large.raw(0, 1), /too often, or for too much/);
  assert.throws(() => new Guest().raw(-1, 4), /outside of its memory/);
  assert.throws(() => new Guest().host.functions().response(0), /an answer that it can't have/);
  const near = new Guest();
  near.ask({ op: "lookup" });
  assert.throws(() => near.host.functions().response(SIZE - 1), /an answer that it can't have/);
});
