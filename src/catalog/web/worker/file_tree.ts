// The directory that a guest sees: the files of a package below their parts (src/wasm/file_tree.h).

import { byBytes, type Bytes, type Files } from "./bytes.ts";
import { Failure } from "./failure.ts";

export interface Directory {
  readonly name: string;
  /** null: the package itself. */
  readonly parent: Directory | null;
  /** By name, in the order of their names. */
  readonly children: ReadonlyMap<string, FileNode>;
  readonly inode: number;
}

export interface PlainFile {
  readonly name: string;
  readonly parent: Directory;
  readonly children: null;
  readonly content: Bytes;
  readonly inode: number;
}

export type FileNode = Directory | PlainFile;

interface GrowingDirectory extends Directory {
  children: Map<string, FileNode>;
}

/** Inodes are counted in the order of the paths. */
export function treeOf(files: Files): Directory {
  const root: GrowingDirectory = { name: "", parent: null, children: new Map(), inode: 1 };
  const directories = new Map<FileNode, GrowingDirectory>([[root, root]]);
  let inodes = 1;
  for (const [path, content] of [...files].sort(([a], [b]) => byBytes(a, b))) {
    const parts = path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === ".." || part.includes("\0")))
      throw new Failure(`${JSON.stringify(path)} can't be the path of a file inside a package`);
    const name = parts.pop()!;
    let parent = root;
    for (const part of parts) {
      let child = parent.children.get(part);
      if (!child) {
        const made: GrowingDirectory = { name: part, parent, children: new Map(), inode: ++inodes };
        parent.children.set(part, made);
        directories.set(made, made);
        child = made;
      }
      const next = directories.get(child);
      if (!next) throw bothKinds(path);
      parent = next;
    }
    if (parent.children.has(name)) throw bothKinds(path);
    parent.children.set(name, { name, parent, children: null, content, inode: ++inodes });
  }
  for (const each of directories.values()) each.children = new Map([...each.children].sort(([a], [b]) => byBytes(a, b)));
  return root;
}

const bothKinds = (path: string) => new Failure(`the package holds ${JSON.stringify(path)} as a file and as a directory`);
