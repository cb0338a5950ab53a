import * as assert from "node:assert/strict";
import { test } from "node:test";

import type { Message, Plan } from "../protocol.ts";
import { Failure } from "../worker/failure.ts";
import { render } from "../worker/render.ts";
import { caught, draw, engine, exit, grow, packageModule, program, request, TRAP, write } from "./assemble.ts";
import { gzip, tarOf } from "./tar.ts";

const FILES = { "manifests/map.yaml": "a: 1\n", "scripts/pre-install.py": "import kpm\n" };
const LIMITS = { seconds: 20, memoryBytes: 100 * 65536, outputBytes: 1 << 20, requests: 100 };
const result = (data: object) => JSON.stringify({ kind: "MistResult", data });

const ENGINES: Pick<Plan, "module" | "runs"> = { module: { url: "/module", files: true }, runs: [] };
const OWN: Pick<Plan, "module" | "runs"> = { module: { url: "0", files: false }, runs: [{ engine: null, url: "0", input: "{}", script: false }] };

/** With these engines, of which the first `scripts` are scripts. */
const rendered = (engines: WebAssembly.Module[], scripts = 0) =>
  renderedBy(engines, { ...ENGINES, runs: engines.map((_, i) => ({ engine: "jinja", url: String(i), input: "{}", script: i < scripts })) });

async function renderedBy(guests: WebAssembly.Module[], runs: Pick<Plan, "module" | "runs">) {
  const plan: Plan = {
    name: "shop 1.0.0",
    ...runs,
    clock: "1700000000000000000",
    seed: "0".repeat(64),
    keys: { ed25519: { value: "ED key" }, ecdsa: { value: "EC key" } },
    limits: LIMITS,
    transfer: 1000,
    ofVersion: "package=shop&version=1.0.0",
    command: "mistctl generate shop",
  };
  const module = packageModule(await gzip(tarOf(FILES)));
  const told: Message[] = [];
  const done = await render(plan, (message) => told.push(message), async (url) => (url === "/module" ? module : guests[Number(url)]!));
  assert.deepEqual(told, [{ state: "loading" }, { state: "running" }]);
  return done;
}

const failed = (engines: WebAssembly.Module[], scripts = 0) => failure(rendered(engines, scripts));

async function failure(rendering: Promise<unknown>) {
  try {
    await rendering;
  } catch (failure) {
    assert.ok(failure instanceof Failure, String(failure));
    return failure.report;
  }
  throw new Error("it was rendered");
}

test("an engine's files are the result", async () => {
  const done = await rendered([engine([result({ result: "Ok", files: { "b.yaml": "b: 1", "a.yaml": "a: 1\n" } })], (said) => [...draw(8), ...write(1, ...said!)])]);
  assert.equal(done.text, "---\n# a.yaml\na: 1\n---\n# b.yaml\nb: 1\n");
  assert.deepEqual([done.objects, done.drawn, done.secrets, done.lines], [2, 8, [], []]);
});

test("exit code 0 is a success", async () => {
  const done = await rendered([engine([result({ result: "Ok", files: { "a.yaml": "a: 1\n" } })], (said) => [...write(1, ...said!), ...exit(0)])]);
  assert.equal(done.text, "a: 1\n");
});

test("another exit code has what was printed to stderr", async () => {
  const report = await failed([engine(["no such value\n"], (said) => [...write(2, ...said!), ...exit(3)])]);
  assert.equal(report.message, "shop 1.0.0 could not be rendered: it ended with exit code 3");
  assert.equal(report.because, "no such value");
  assert.equal((await failed([engine([], () => exit(1))])).because, "it printed no reason to stderr");
});

test("a guest that catches its end has no result", async () => {
  const report = await failed([engine([result({ result: "Ok", files: { "a.yaml": "a: 1\n" } })], (said) => [...caught(exit(3)), ...write(1, ...said!)])]);
  assert.match(report.message, /ended with exit code 3/);
  const asks = (count: number) => Array.from({ length: count }, () => caught(request(64, 2))).flat();
  assert.match((await failed([engine(["{}"], () => [...asks(LIMITS.requests + 1), ...exit(0)])])).message, /asks its host too often/);
});

test("a trap says so, with what was printed before", async () => {
  const report = await failed([engine(["panicked"], (said) => [...write(2, ...said!), ...TRAP])]);
  assert.equal(report.because, "the engine stopped: unreachable\npanicked");
});

test("an engine that has all its memory says that", async () => {
  const report = await failed([engine([], () => [...grow(95), ...TRAP])]);
  assert.equal(report.because, "it reached the limit of 6 MiB of memory that a preview has");
  assert.equal((await failed([engine([], () => [...grow(95), ...exit(1)])])).because, report.because);
});

test("an engine that says nothing has no result", async () => {
  assert.match(String((await failed([engine([], () => [])])).because), /can't be read/);
});

test("secrets are placeholders in the objects and in logs", async () => {
  const asks = JSON.stringify({ op: "secret.get", name: "server", kind: "ecdsa" });
  const logs = JSON.stringify({ op: "log", level: "warn", message: "made EC key" });
  const text = result({ result: "Ok", files: { "a.yaml": "a: EC key\n" } });
  const done = await rendered([engine([asks, logs, text], (asked, logged, said) => [...request(...asked!), ...request(...logged!), ...write(1, ...said!)])]);
  assert.deepEqual([done.text, done.secrets, done.lines], ["a: (secret server)\n", ["server"], [{ level: "warn", text: "made (secret server)" }]]);
});

test("of what is too much for a page its beginning is shown", async () => {
  const name = "n".repeat(128);
  const asks = Array.from({ length: 60 }, (_, i) => JSON.stringify({ op: "secret.get", name: i === 0 ? name : `s${i}`, kind: i === 0 ? "ecdsa" : "hex" }));
  // Each of them becomes a name, which is longer.
  const text = result({ result: "Ok", files: { "a.yaml": `${"EC key".repeat(8000)}\n` } });
  const done = await rendered([engine([text, ...asks], (said, ...asked) => [...asked.flatMap((each) => request(...each)), ...write(1, ...said!)])]);
  assert.deepEqual([done.text.length, done.length], [1 << 20, 8000 * `(secret ${name})`.length + 1]);
  assert.deepEqual([done.secrets.length, done.secrets[0], done.moreSecrets], [50, name, 10]);
});

test("what a script left is what the next engine reads", async () => {
  const script = engine([result({ result: "Ok", exports: { removed: ["manifests/map.yaml"] } })], (said) => write(1, ...said!));
  const next = engine([result({ result: "Error", message: "m", where: { file: "manifests/map.yaml", line: 1 } })], (said) => write(1, ...said!));
  assert.equal((await failed([next])).where?.text, "a: 1");
  assert.equal((await failed([script, next], 1)).where?.text, "", "the file is gone");
});

const own = (guest: WebAssembly.Module) => renderedBy([guest], OWN);

test("a package that is a program gives YAML as it is, or a result", async () => {
  const yaml = program(["kind: ConfigMap\nmetadata: {name: a}\n"], { _start: (said) => write(1, ...said!) });
  const done = await own(yaml);
  assert.deepEqual([done.text, done.objects], ["kind: ConfigMap\nmetadata: {name: a}\n", 1]);
  const document = JSON.stringify({ apiVersion: "mistletoe.dev/v1", kind: "MistResult", data: { result: "Ok", files: { "a.yaml": "a: 1\n" } } });
  assert.equal((await own(program([document], { _start: (said) => write(1, ...said!) }))).text, "a: 1\n");
  assert.equal((await own(program(["{\"kind\": \"Pod\"}"], { _start: (said) => write(1, ...said!) }))).text, '{"kind": "Pod"}\n');
  assert.equal((await own(program([], { _start: () => exit(0) }))).text, "");
});

test("a command is called by its _start, a reactor after its _initialize", async () => {
  const both = program(["a: 1\n", "b: 1\n"], { mistletoe_generate: (said) => write(1, ...said!), _start: (_, said) => write(1, ...said!), _initialize: () => TRAP });
  assert.equal((await own(both)).text, "b: 1\n");
  const reactor = program(["a: 1\n", "b: 1\n"], { mistletoe_generate: (_, said) => write(1, ...said!), _initialize: (said) => [...draw(8), ...write(1, ...said!)] });
  const done = await own(reactor);
  assert.deepEqual([done.text, done.drawn], ["a: 1\nb: 1\n", 0]);
  assert.equal((await rendered([program([result({ result: "Ok", files: { "a.yaml": "a: 1\n" } })], { mistletoe_generate: (said) => write(1, ...said!), _initialize: () => TRAP })])).text, "a: 1\n", "an engine is initialised already");
});

test("a start function is called first, and reaches the host", async () => {
  const begins = program(["first: 1\n", "second: 2\n"], { mistletoe_generate: (_, said) => write(1, ...said!), begin: (said) => [...draw(8), ...write(1, ...said!)] }, { start: "begin" });
  const done = await own(begins);
  assert.deepEqual([done.text, done.drawn], ["first: 1\nsecond: 2\n", 0]);
});

test("a program that can't be run says why", async () => {
  assert.match(String((await failure(own(program([], { run: () => [] })))).because), /exports no memory, or nothing to call/);
  assert.equal((await failure(own(program([], { _start: () => [] }, { strange: "launch" })))).because, "it imports the function launch of mistletoe_v1, which a preview doesn't have");
  assert.equal((await failure(own(program([], { _start: () => TRAP })))).because, "the program stopped: unreachable");
  assert.equal((await failure(own(program([], { _start: () => [], begin: () => TRAP }, { start: "begin" })))).because, "the program stopped: unreachable");
  assert.match((await failure(own(program([], { _start: () => [], begin: () => exit(3) }, { start: "begin" })))).message, /ended with exit code 3/);
  assert.match(String((await failure(own(program(["a\0"], { _start: (said) => write(1, ...said!) })))).because), /NUL/);
  const yaml = "apiVersion: mistletoe.dev/v1\nkind: MistResult\n";
  assert.match(String((await failure(own(program([yaml], { _start: (said) => write(1, ...said!) })))).because), /as YAML, and a preview reads JSON/);
});
