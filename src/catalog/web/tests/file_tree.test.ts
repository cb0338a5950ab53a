import * as assert from "node:assert/strict";
import { test } from "node:test";

import { type FileNode, treeOf } from "../worker/file_tree.ts";
import { filesOf } from "./tar.ts";

const names = (node: FileNode | undefined) => [...(node?.children?.keys() ?? [])];

// The cases of src/wasm/file_tree_test.cc.
test("each directory is in the order of bytes", () => {
  const root = treeOf(filesOf({ "b/x": "1", "a-b": "2", "a/z": "3", "a/B": "4", c: "5", "\u{1f384}": "", "\uff5e": "" }));
  assert.deepEqual(names(root), ["a", "a-b", "b", "c", "\uff5e", "\u{1f384}"]);
  assert.deepEqual(names(root.children.get("a")), ["B", "z"]);
  assert.equal(root.children.get("a")?.parent, root);
  assert.deepEqual(names(treeOf(new Map())), []);
});

test("inodes are counted in the order of the paths", () => {
  const root = treeOf(filesOf({ "b/x": "", "b/y": "", a: "" }));
  const b = root.children.get("b");
  assert.deepEqual([root, root.children.get("a"), b, b?.children?.get("x"), b?.children?.get("y")].map((node) => node?.inode), [1, 2, 3, 4, 5]);
});

test("paths that leave or confuse it are refused", () => {
  for (const path of ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\0b"])
    assert.throws(() => treeOf(filesOf({ [path]: "" })), /can't be the path/, path);
  assert.throws(() => treeOf(filesOf({ a: "", "a/b": "" })), /as a file and as a directory/);
  assert.throws(() => treeOf(filesOf({ a: "", "a-": "", "a/b": "" })), /as a file and as a directory/);
});

test("names of JavaScript's own are names like others", () => {
  assert.deepEqual(names(treeOf(filesOf({ ["__proto__"]: "", "constructor/toString": "" }))), ["__proto__", "constructor"]);
});
