import * as assert from "node:assert/strict";
import { test } from "node:test";

import { megabytes, plural, report, visible } from "../page/report.ts";

test("an error is shown as mistctl shows it", () => {
  const where = { file: "manifests/map.yaml.j2", line: 12, column: 3, text: "\ta: {{ b }}" };
  assert.equal(
    report({ message: "shop could not be rendered", where, because: " one\ntwo\n", frames: ["while rendering shop"], hint: "press Preview again" }),
    `error: shop could not be rendered
  at manifests/map.yaml.j2:12:3
       |
    12 |  a: {{ b }}
       |   ^
  because: one
    two
  while rendering shop
  try: press Preview again
`,
  );
  assert.equal(report({ message: "m", where: { file: "a", line: 0, column: 0, text: "" }, because: null }), "error: m\n  at a\n");
});

test("no character changes how the text around it is read", () => {
  assert.equal(visible("a\u0000\u001b[31m\u007f\u0085\u202e\u2066b"), "a\\u0000\\u001b[31m\\u007f\\u0085\\u202e\\u2066b");
  assert.equal(visible("tab\tline\né🎄<script>"), "tab\tline\né🎄<script>");
  assert.equal(visible("a\r\nb"), "a\\u000d\nb");
});

test("counts have their words", () => {
  assert.deepEqual([plural(0, "object"), plural(1, "object"), plural(2, "object")], ["0 objects", "1 object", "2 objects"]);
  assert.equal(megabytes(6_543_210), "6.5 MB");
});
