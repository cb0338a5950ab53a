import assert from "node:assert/strict";
import { test } from "node:test";

import { call, lookup, lookupAll, Output, render, secret, toYaml } from "../src/index.ts";
import { setHost } from "../src/host.ts";
import { beginLoading } from "../src/loading.ts";
import { fillRandomly } from "../src/random.ts";
import { run } from "../src/run.ts";
// @ts-expect-error: a module of JavaScript
import path from "../shims/path.js";

const document = (data: object) => JSON.stringify({ apiVersion: "mistletoe.dev/v1", kind: "MistInput", data });

test("writes an object as people do", () => {
  const container = { image: "registry.example/web:1.2", name: "web", args: ["--port=80", "-v", "", "a: b"], env: [], resources: {} };
  const object = {
    spec: { replicas: 2, containers: [container], matrix: [[1, 2], [null, true, 1.5]], left: undefined },
    metadata: { labels: { "app.kubernetes.io/name": "web" }, name: "web" },
    kind: "Thing",
    apiVersion: "example.com/v1",
  };
  assert.equal(
    toYaml(object),
    `apiVersion: example.com/v1
kind: Thing
metadata:
  name: web
  labels:
    app.kubernetes.io/name: web
spec:
  containers:
  - name: web
    args:
    - "--port=80"
    - "-v"
    - ""
    - "a: b"
    env: []
    image: registry.example/web:1.2
    resources: {}
  matrix:
  - - 1
    - 2
  - - null
    - true
    - 1.5
  replicas: 2
`,
  );
});

test("exports a text as its quotation, which a host reads as YAML", () => {
  const exported = (exports: unknown) => JSON.parse(run(() => new Output().withExports(exports), document({}))).data.exports;
  assert.equal(exported('on \u0085"'), '"on \\u0085\\""');
  assert.deepEqual(exported(["on"]), ["on"]);
});

test("quotes what a reader could take for something else, and keeps texts of several lines", () => {
  for (const text of ["", "~", "yes", "0777", "1e3", "12:30:45", "a: b", "a ", "é", "\ufeffa", "a\r\nb", "#a"])
    assert.match(toYaml(text), /^".*"\n$/s, text);
  for (const text of ["web", "a b", "/etc/nginx", "250m", "64Mi", "a=b,c%"]) assert.equal(toYaml(text), `${text}\n`);
  assert.equal(toYaml({ k: "a\n\n b\n" }), "k: |\n  a\n\n   b\n");
  assert.equal(toYaml({ k: "a\nb" }), "k: |-\n  a\n  b\n");
  assert.equal(toYaml({ k: "a\nb\n\n" }), "k: |+\n  a\n  b\n\n");
});

test("sorts keys as UTF-8 is sorted", () => {
  assert.equal(toYaml({ "\u{1f384}": 1, "\uff5e": 2, b: 3, 10: 4, 9: 5 }), '"10": 4\n"9": 5\nb: 3\n"～": 2\n"🎄": 1\n');
});

test("refuses what JSON would write as something else", () => {
  const rest = ", which neither JSON nor YAML has";
  const shared = { size: 1 };
  assert.equal(toYaml({ a: shared, b: [shared] }), "a:\n  size: 1\nb:\n- size: 1\n");
  assert.throws(() => toYaml({ spec: { ports: [shared, { port: NaN }] } }), { message: `spec.ports[1].port is NaN${rest}` });
  assert.throws(() => toYaml([[-Infinity]]), { message: `[0][0] is -Infinity${rest}` });
  assert.throws(() => toYaml(Infinity), { message: `the value is Infinity${rest}` });
  assert.throws(() => toYaml({ data: new Map([["a", 1]]) }), { message: "data is of Map, which YAML doesn't have" });
  assert.throws(() => toYaml({ data: new Set([1]) }), { message: "data is of Set, which YAML doesn't have" });
  const said = (output: () => Output) => JSON.parse(run(output, document({}))).data.message;
  assert.equal(said(() => new Output().withObject("x.yaml", { a: NaN })), `can't write the file x.yaml: a is NaN${rest}`);
  assert.equal(said(() => new Output().withExports({ size: Infinity })), `can't write the exports: size is Infinity${rest}`);
  const calling = () => new Output().withFilesFrom("db", call("db", { size: NaN }));
  assert.equal(said(calling), `can't write the input of db: size is NaN${rest}`);
  assert.throws(() => secret.hex("token", NaN), { message: `length is NaN${rest}` });
});

test("answers with a result, or with an error and its causes", () => {
  const generate = (input: { name: string }) => new Output().withMessage(`in ${input.name}`).withFile("a", "\u2028");
  assert.equal(
    run(generate, document({ name: "shop" })),
    '{"apiVersion":"mistletoe.dev/v1","kind":"MistResult","data":{"result":"Ok","message":"in shop","files":{"a":"\\u2028"}}}',
  );
  const failing = () => {
    throw new Error("can't make the Service", { cause: new Error("no port") });
  };
  assert.match(run(failing, document({})), /"result":"Err","message":"can't make the Service: no port"/);
  assert.match(run((() => 1) as any, document({})), /generate gave no Output/);
  assert.throws(() => render(generate, '{"kind": "Pod"}'), /kind `Pod`/);
});

test("declares order and carries files of called packages", () => {
  setHost(() => JSON.stringify({ ok: { files: { "a.yaml": "a: 1\n" }, exports: { port: 80 } } }));
  const called = call<{ port: number }>("db", {});
  assert.equal(called.exports.port, 80);
  const output = new Output().withFilesFrom("db", called).after("A/a", "B/b").before("A/a", "C/c");
  assert.equal(output.file("db/a.yaml"), "a: 1\n");
  assert.equal(
    output.file("mist-order.yaml"),
    "apiVersion: mistletoe.dev/v1\nkind: MistOrder\nedges:\n- after: B/b\n  object: A/a\n- before: C/c\n  object: A/a\n",
  );
});

test("reads what the cluster has", () => {
  setHost((text) => JSON.stringify({ ok: JSON.parse(text).name === "" ? { items: [{ kind: "A" }] } : null }));
  assert.equal(lookup("v1", "A", "prod", "one"), undefined);
  assert.deepEqual(lookupAll("v1", "A", ""), [{ kind: "A" }]);
  setHost((text) => JSON.stringify({ ok: JSON.parse(text) }));
  assert.deepEqual(lookup("v1", "A", "prod", "one"), { op: "lookup", apiVersion: "v1", kind: "A", namespace: "prod", name: "one" });
  assert.throws(() => lookup("v1", "A", "prod", ""), /needs a name/);
});

test("says what the host says", () => {
  setHost(() => JSON.stringify({ error: { kind: "NotFound", message: "no", hint: "did you mean x?" } }));
  assert.throws(() => secret.password("db"), { message: "no (did you mean x?)" });
  setHost(() => "{");
  assert.throws(() => secret.password("db"), /can't be read/);
});

test("has a path of its own", () => {
  assert.equal(path.join("/a", "../b", "./c/"), "/b/c");
  assert.equal(path.resolve("a", "..", "b"), "/b");
  assert.equal(path.basename("/a/b.ts", ".ts"), "b");
  assert.equal(path.extname(".gitignore"), "");
  assert.equal(path.dirname("/a"), "/");
});

test("sees nothing of the moment when it is built, and the release's clock and bytes from then on", () => {
  const drawn = () => {
    const native = class extends Date {} as DateConstructor;
    const scope = { Date: native };
    const loading = beginLoading(scope, (length) => new Uint8Array(length).fill(7));
    const early = scope.Date;
    assert.equal(early.now(), 0);
    assert.equal(new early().toISOString(), "1970-01-01T00:00:00.000Z");
    assert.equal(new early(5).getTime(), 5);
    assert.ok(new early() instanceof early && new early() instanceof native);
    assert.throws(() => loading.secretBytes(16), /every release would get the same bytes; call it in generate/);
    const bytes = [...loading.bytes(8)];
    assert.ok(new Set(bytes).size > 4, "no library that looks for a new number looks for ever");
    loading.loaded();
    assert.equal(scope.Date, native);
    assert.ok(Math.abs(new early().getTime() - Date.now()) < 60_000 && early.now() > 0, "also for code that kept it");
    assert.deepEqual([...loading.bytes(2), ...loading.secretBytes(2)], [7, 7, 7, 7]);
    return bytes;
  };
  assert.deepEqual(drawn(), drawn());
});

test("fills integers of every width with random bytes", () => {
  const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => i + 1);
  const within = new Uint32Array(4);
  const wide = fillRandomly(within.subarray(1, 3), bytes);
  assert.deepEqual([...new Uint8Array(within.buffer)], [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0]);
  assert.ok(wide.every((each) => each > 0xffff));
  assert.deepEqual([...fillRandomly(Buffer.alloc(2), bytes)], [1, 2]);
  assert.notEqual(fillRandomly(new BigUint64Array(1), bytes)[0]! >> 32n, 0n);
  for (const other of [new Float64Array(1), new DataView(new ArrayBuffer(8)), [0] as any])
    assert.throws(() => fillRandomly(other, bytes), { name: "TypeMismatchError" });
  assert.equal(fillRandomly(new Uint32Array(16_384), bytes).byteLength, 65_536);
  assert.throws(() => fillRandomly(new Uint32Array(16_385), bytes), { name: "QuotaExceededError" });
});
