import * as assert from "node:assert/strict";
import { test } from "node:test";

import { type Bytes, decode, encode, toHex } from "../worker/bytes.ts";
import { Errno } from "../worker/errno.ts";
import { Ending, Exit, Failure } from "../worker/failure.ts";
import { GuestMemory } from "../worker/memory.ts";
import { RandomStream } from "../worker/random_stream.ts";
import { Wasi } from "../worker/wasi.ts";
import table from "../../../wasm/wasi.cc";
import { filesOf } from "./tar.ts";

const SIZE = 65536;
const SEED = new Uint8Array(32);
const FILES = filesOf({ "Chart.yaml": "name: shop\n", "templates/a.yaml": "a", "templates/b.yaml": "b" });

/** A guest without code: its memory, and calls. */
class Guest {
  readonly buffer = new ArrayBuffer(SIZE);
  readonly memory = new GuestMemory();
  readonly ending = new Ending();
  readonly wasi: Wasi;
  readonly #functions: Record<string, (...parameters: never[]) => number>;

  constructor({ outputBytes = 1 << 20, attached = true, files = FILES as typeof FILES | null } = {}) {
    if (attached) this.memory.attach(this);
    this.wasi = new Wasi({
      name: "shop 1.0.0",
      clock: 1_700_000_000_000_000_000n,
      seed: SEED,
      outputBytes,
      input: encode("the input"),
      files,
      memory: this.memory,
      ending: this.ending,
    });
    this.#functions = this.wasi.functions();
  }

  /** As an engine calls: numbers are signed. */
  call(name: string, ...parameters: (number | bigint)[]): number {
    const signed = parameters.map((each) => (typeof each === "bigint" ? BigInt.asIntN(64, each) : each | 0));
    return (this.#functions[name] as (...parameters: (number | bigint)[]) => number)(...signed);
  }
  get names(): string[] {
    return Object.keys(this.#functions);
  }

  u32 = (at: number) => this.memory.u32(at);
  u64 = (at: number) => this.memory.u64(at);
  bytes = (at: number, length: number): Bytes => this.memory.piece(at, length)!;
  text = (at: number, length: number) => decode(this.bytes(at, length));
  put(at: number, text: string | Bytes): number {
    const bytes = typeof text === "string" ? encode(text) : text;
    this.bytes(at, bytes.length).set(bytes);
    return bytes.length;
  }
  /** An iovec. */
  vector(at: number, target: number, length: number): void {
    this.memory.put32(at, target);
    this.memory.put32(at + 4, length);
  }
  /** The descriptor is put to 500. */
  open(path: string | Bytes, flags = 0, rights = 2n, descriptor = 3): number {
    return this.call("path_open", descriptor, 0, 1000, this.put(1000, path), flags, rights, 0n, 0, 500);
  }
  readAll(descriptor: number): string {
    this.vector(0, 2000, 4096);
    assert.equal(this.call("fd_read", descriptor, 0, 1, 8), Errno.SUCCESS);
    return this.text(2000, this.u32(8));
  }
  subscribe(at: number, userdata: bigint, clock: number, timeout: bigint, flags: number): void {
    this.bytes(at, 48).fill(0);
    this.memory.put64(at, userdata);
    this.memory.put32(at + 16, clock);
    this.memory.put64(at + 24, timeout);
    this.memory.put32(at + 40, flags);
  }
  monotonic(): bigint {
    assert.equal(this.call("clock_time_get", 1, 0n, 0), Errno.SUCCESS);
    return this.u64(0);
  }
}

// Names and parameters of mistctl's functions; i is an i32, I an i64.
const MISTCTL = [...table.matchAll(/\{"(\w+)", "([iI]*)", (?:true|false), &/g)].map(([, name, parameters]) => ({ name: name!, parameters: parameters! }));

test("a guest finds each function that mistctl has, and no other", () => {
  assert.ok(MISTCTL.length > 40);
  assert.deepEqual(new Guest().names.sort(), MISTCTL.map(({ name }) => name).sort());
});

test("any parameters to any function are survived", () => {
  const values = [0, 1, 3, 4, 7, 65535, 65536, 0x7fffffff, 0xffffffff, 2n ** 64n - 1n];
  for (const { name, parameters } of MISTCTL)
    for (const first of values)
      for (const second of values)
        for (const attached of [true, false]) {
          const given = [...parameters].map((type, i) => {
            const value = BigInt(i % 2 ? second : first);
            return type === "I" ? value : Number(BigInt.asUintN(32, value));
          });
          try {
            assert.equal(typeof new Guest({ attached }).call(name, ...given), "number");
          } catch (thrown) {
            assert.ok(thrown instanceof Exit || thrown instanceof Failure, `${name}(${given}): ${thrown}`);
          }
        }
});

// The cases of src/wasm/wasi_test.cc.
test("arguments are given, and no environment", () => {
  const guest = new Guest();
  assert.equal(guest.call("args_sizes_get", 0, 4), Errno.SUCCESS);
  assert.deepEqual([guest.u32(0), guest.u32(4)], [1, 8]);
  assert.equal(guest.call("args_get", 16, 100), Errno.SUCCESS);
  assert.equal(guest.text(guest.u32(16), 8), "package\0");
  assert.equal(guest.call("environ_sizes_get", 0, 4), Errno.SUCCESS);
  assert.equal(guest.u32(0), 0);
  assert.equal(guest.call("args_get", 16, 65530), Errno.FAULT);
});

test("the wall clock stands still, and each reading advances the other by a microsecond", () => {
  const guest = new Guest();
  for (let i = 0; i < 2; ++i) {
    assert.equal(guest.call("clock_time_get", 0, 0n, 0), Errno.SUCCESS);
    assert.equal(guest.u64(0), 1_700_000_000_000_000_000n);
  }
  assert.equal(guest.call("clock_time_get", 4, 0n, 8), Errno.INVAL);
  for (let i = 0n; i < 3n; ++i) assert.equal(guest.monotonic(), i * 1000n);
});

test("waiting moves the clock", () => {
  const guest = new Guest();
  guest.subscribe(100, 7n, 1, 5_000_000_000n, 0);
  guest.subscribe(148, 8n, 1, 9_000_000_000n, 0);
  assert.equal(guest.call("poll_oneoff", 100, 400, 2, 0), Errno.SUCCESS);
  assert.deepEqual([guest.u32(0), guest.u64(400)], [1, 7n]);
  assert.equal(guest.monotonic(), 5_000_000_000n);
});

test("times of both clocks are waited for", () => {
  const guest = new Guest();
  guest.subscribe(100, 1n, 0, 1_700_000_003_000_000_000n, 1);
  assert.equal(guest.call("poll_oneoff", 100, 400, 1, 0), Errno.SUCCESS);
  assert.equal(guest.monotonic(), 3_000_000_000n);
  guest.subscribe(100, 1n, 1, 1000n, 1); // in the past
  assert.equal(guest.call("poll_oneoff", 100, 400, 1, 0), Errno.SUCCESS);
  assert.equal(guest.monotonic(), 3_000_001_000n);
});

test("beside a file, which is always ready, nothing is waited for", () => {
  const guest = new Guest();
  guest.subscribe(100, 7n, 1, 5_000_000_000n, 0);
  guest.subscribe(148, 9n, 0, 0n, 0);
  guest.bytes(156, 1)[0] = 1;
  guest.subscribe(196, 10n, 77, 0n, 0);
  guest.bytes(204, 1)[0] = 2;
  assert.equal(guest.call("poll_oneoff", 100, 400, 3, 0), Errno.SUCCESS);
  assert.deepEqual([guest.u32(0), guest.u64(400), guest.u64(432)], [2, 9n, 10n]);
  assert.deepEqual([guest.memory.u16(408), guest.memory.u16(440)], [Errno.SUCCESS, Errno.BADF]);
  assert.equal(guest.monotonic(), 0n);
  guest.bytes(156, 1)[0] = 3;
  assert.equal(guest.call("poll_oneoff", 100, 400, 2, 0), Errno.INVAL);
  assert.equal(guest.call("poll_oneoff", 100, 400, 0, 0), Errno.INVAL);
  assert.equal(guest.call("poll_oneoff", 65500, 400, 1, 0), Errno.FAULT);
});

test("a guest that sleeps for ever is ended", () => {
  const guest = new Guest();
  guest.subscribe(100, 7n, 1, 2n ** 64n - 1n, 0);
  assert.throws(() => guest.call("poll_oneoff", 100, 400, 1, 0), /would sleep for ever/);
  assert.ok(guest.ending.reason instanceof Failure);
});

test("random bytes come from the seed, and count once the guest generates", () => {
  const guest = new Guest();
  assert.equal(guest.call("random_get", 0, 10), Errno.SUCCESS);
  guest.wasi.entered = true;
  assert.equal(guest.call("random_get", 10, 22), Errno.SUCCESS);
  assert.equal(guest.wasi.drawn, 22);
  assert.equal(toHex(guest.bytes(0, 32)), toHex(new RandomStream(SEED, "wasi").take(32)));
  assert.equal(guest.call("random_get", 65530, 7), Errno.FAULT);
  assert.equal(guest.wasi.drawn, 22);
  const draw = (stream: string) => {
    guest.wasi.stream = stream;
    guest.call("random_get", 0, 8);
    return toHex(guest.bytes(0, 8));
  };
  const drawn = [draw("a.yaml"), draw("b.yaml"), draw("a.yaml")];
  const whole = toHex(new RandomStream(SEED, "wasi/a.yaml").take(16));
  assert.deepEqual(drawn, [whole.slice(0, 16), toHex(new RandomStream(SEED, "wasi/b.yaml").take(8)), whole.slice(16)]);
});

test("the input is read to its end", () => {
  const guest = new Guest();
  assert.equal(guest.readAll(0), "the input");
  assert.equal(guest.readAll(0), "");
  assert.equal(guest.call("fd_read", 1, 0, 1, 8), Errno.BADF);
  assert.equal(guest.call("fd_seek", 0, 0n, 0, 8), Errno.SPIPE);
});

test("an output may come in very many pieces", () => {
  const guest = new Guest({ outputBytes: 1 << 20 });
  guest.put(2000, "ab");
  guest.vector(0, 2000, 2);
  guest.vector(8, 0, 0);
  for (let i = 0; i < 200_000; ++i) assert.equal(guest.call("fd_write", 1 + (i % 2), 0, 2, 16), Errno.SUCCESS);
  assert.equal(decode(guest.wasi.files.output), "ab".repeat(100_000));
  assert.equal(guest.wasi.files.errorText, "ab".repeat(100_000));
});

test("outputs are kept apart", () => {
  const guest = new Guest();
  guest.put(100, "out");
  guest.put(200, "err");
  guest.vector(0, 100, 3);
  assert.equal(guest.call("fd_write", 1, 0, 1, 16), Errno.SUCCESS);
  guest.vector(0, 200, 3);
  assert.equal(guest.call("fd_write", 2, 0, 1, 16), Errno.SUCCESS);
  guest.bytes(100, 3).fill(0); // what was written stays
  assert.deepEqual([decode(guest.wasi.files.output), guest.wasi.files.errorText], ["out", "err"]);
  for (const descriptor of [0, 3, 4]) assert.equal(guest.call("fd_write", descriptor, 0, 1, 16), Errno.BADF);
});

test("a guest that prints more than its limit is ended", () => {
  const guest = new Guest({ outputBytes: 5 });
  guest.put(100, "abc");
  guest.vector(0, 100, 3);
  assert.equal(guest.call("fd_write", 1, 0, 1, 16), Errno.SUCCESS);
  assert.throws(() => guest.call("fd_write", 2, 0, 1, 16), /printed more than/);
  assert.equal(guest.wasi.files.errorText, "");
});

test("one directory is open before", () => {
  const guest = new Guest();
  assert.equal(guest.call("fd_prestat_get", 3, 0), Errno.SUCCESS);
  assert.equal(guest.u32(4), 8);
  assert.equal(guest.call("fd_prestat_dir_name", 3, 100, 8), Errno.SUCCESS);
  assert.equal(guest.text(100, 8), "/package");
  assert.equal(guest.call("fd_prestat_dir_name", 3, 100, 7), Errno.NAMETOOLONG);
  assert.equal(guest.call("fd_prestat_dir_name", 3, 65530, 8), Errno.FAULT);
  assert.equal(guest.call("fd_prestat_get", 4, 0), Errno.BADF);
});

test("without files there is no directory", () => {
  const guest = new Guest({ files: null });
  assert.equal(guest.call("fd_prestat_get", 3, 0), Errno.BADF);
  assert.equal(guest.open("Chart.yaml"), Errno.BADF);
});

test("files are opened, read, sought in and closed", () => {
  const guest = new Guest();
  assert.equal(guest.open("templates/../Chart.yaml"), Errno.SUCCESS);
  const file = guest.u32(500);
  assert.equal(file, 4);
  assert.equal(guest.readAll(file), "name: shop\n");
  assert.equal(guest.call("fd_seek", file, -5n, 2, 16), Errno.SUCCESS);
  assert.equal(guest.u64(16), 6n);
  assert.equal(guest.readAll(file), "shop\n");
  assert.equal(guest.call("fd_tell", file, 16), Errno.SUCCESS);
  assert.equal(guest.u64(16), 11n);
  assert.equal(guest.call("fd_seek", file, 0n, 0, 65530), Errno.FAULT);
  assert.equal(guest.readAll(file), "", "a place that couldn't be told isn't gone to");
  assert.equal(guest.call("fd_seek", file, -1n, 0, 16), Errno.INVAL);
  assert.equal(guest.call("fd_seek", file, 2n ** 63n - 1n, 1, 16), Errno.INVAL);
  assert.equal(guest.call("fd_seek", file, 0n, 3, 16), Errno.INVAL);
  guest.vector(0, 2000, 4);
  assert.equal(guest.call("fd_pread", file, 0, 1, 6n, 8), Errno.SUCCESS);
  assert.equal(guest.text(2000, 4), "shop");
  assert.equal(guest.call("fd_pread", file, 0, 1, 2n ** 64n - 1n, 8), Errno.SUCCESS);
  assert.equal(guest.u32(8), 0);
  assert.equal(guest.call("fd_renumber", file, 0), Errno.SUCCESS);
  assert.equal(guest.call("fd_close", file), Errno.BADF);
  assert.equal(guest.open("Chart.yaml"), Errno.SUCCESS);
  assert.equal(guest.u32(500), 4, "the lowest free descriptor is used again");
  assert.equal(guest.call("fd_close", 4), Errno.SUCCESS);
  assert.equal(guest.call("fd_close", 4), Errno.BADF);
});

test("no path leaves the package", () => {
  const guest = new Guest();
  for (const path of ["..", "../etc/passwd", "templates/../../x", "/etc/passwd", "/package/Chart.yaml"]) assert.equal(guest.open(path), Errno.NOTCAPABLE, path);
  assert.equal(guest.open("templates", 2), Errno.SUCCESS);
  const directory = guest.u32(500);
  assert.equal(guest.open("../Chart.yaml", 0, 2n, directory), Errno.NOTCAPABLE);
  assert.equal(guest.open("a.yaml", 0, 2n, directory), Errno.SUCCESS);
});

test("a path that can't be opened has its reason", () => {
  const guest = new Guest();
  const cases: [string | Bytes, number, number][] = [
    ["missing", 0, Errno.NOENT],
    ["__proto__", 0, Errno.NOENT],
    ["", 0, Errno.NOENT],
    ["Chart.yaml/x", 0, Errno.NOTDIR],
    ["Chart.yaml/", 0, Errno.NOTDIR],
    ["Chart.yaml", 2, Errno.NOTDIR],
    ["a\0b", 0, Errno.ILSEQ],
    [Uint8Array.of(0xff), 0, Errno.ILSEQ],
    ["a".repeat(5000), 0, Errno.NAMETOOLONG],
  ];
  for (const [path, flags, reason] of cases) assert.equal(guest.open(path, flags), reason, String(path).slice(0, 20));
  assert.equal(guest.open("x", 0, 2n, 0), Errno.NOTDIR);
  assert.equal(guest.open("x", 0, 2n, 77), Errno.BADF);
  assert.equal(guest.call("path_readlink", 3, 1000, guest.put(1000, "Chart.yaml"), 0, 0, 0), Errno.INVAL);
  assert.equal(guest.call("path_filestat_get", 3, 0, 65530, 10, 0), Errno.FAULT);
});

test("everything is to be read only", () => {
  const guest = new Guest();
  assert.equal(guest.open("new", 1), Errno.ROFS);
  assert.equal(guest.open("Chart.yaml", 8), Errno.ROFS);
  assert.equal(guest.open("Chart.yaml", 0, 1n << 6n), Errno.ROFS);
  assert.equal(guest.open("templates", 2, 1n << 6n), Errno.SUCCESS, "directories are opened with every right there is");
  assert.equal(guest.call("path_unlink_file", 3, 0, 1), Errno.ROFS);
  assert.equal(guest.call("path_create_directory", 3, 0, 1), Errno.ROFS);
});

test("open files are bounded", () => {
  const guest = new Guest();
  let opened = 0;
  while (guest.open("Chart.yaml") === Errno.SUCCESS) ++opened;
  assert.equal(guest.open("Chart.yaml"), Errno.MFILE);
  assert.equal(opened, 1020);
});

test("times are zero, and inodes stay", () => {
  const guest = new Guest();
  assert.equal(guest.call("path_filestat_get", 3, 0, 1000, guest.put(1000, "templates/a.yaml"), 100), Errno.SUCCESS);
  assert.deepEqual([guest.memory.u8(116), guest.u64(132), guest.u64(108)], [4, 1n, 4n]);
  for (const time of [140, 148, 156]) assert.equal(guest.u64(time), 0n);
});

function list(guest: Guest, descriptor: number, size: number): string[] {
  const names: string[] = [];
  let cookie = 0n;
  while (names.length < 100 && guest.call("fd_readdir", descriptor, 3000, size, cookie, 0) === Errno.SUCCESS) {
    const used = guest.u32(0);
    for (let at = 3000; at + 24 <= 3000 + used; ) {
      const length = guest.u32(at + 16);
      if (at + 24 + length > 3000 + used) break;
      names.push(guest.text(at + 24, length));
      cookie = guest.u64(at);
      at += 24 + length;
    }
    if (used < size) break;
  }
  return names;
}

test("directories are listed in order, through any buffer", () => {
  const guest = new Guest();
  for (const size of [4096, 200, 60, 40]) assert.deepEqual(list(guest, 3, size), [".", "..", "Chart.yaml", "templates"], String(size));
  assert.equal(guest.open("templates", 2), Errno.SUCCESS);
  assert.deepEqual(list(guest, guest.u32(500), 4096), [".", "..", "a.yaml", "b.yaml"]);
  assert.equal(guest.call("fd_readdir", 3, 3000, 100, 2n ** 64n - 1n, 0), Errno.SUCCESS);
  assert.equal(guest.u32(0), 0);
});

test("a guest ends with its code", () => {
  const guest = new Guest();
  assert.throws(() => guest.call("proc_exit", 3), Exit);
  assert.ok(guest.ending.reason instanceof Exit);
  assert.equal(guest.ending.reason.code, 3);
});
