// The files and streams of WASI preview 1 as mistctl gives them (src/wasm/wasi_files.cc): the input, two outputs, and the package's
// directory to read. A change there needs one here.

import { type Bytes, decode, decodeStrictly, encode, GrowingBytes } from "./bytes.ts";
import { Errno, orFault, unsigned as u } from "./errno.ts";
import { Failure, mebibytes } from "./failure.ts";
import { type FileNode, treeOf } from "./file_tree.ts";
import type { WasiFunction, WasiWorld } from "./wasi.ts";

const MOST_FILES = 1024;
const LONGEST_PATH = 4096; // bytes
const PREOPEN = encode("/package");

// witx: filetype.
const CHARACTER_DEVICE = 2;
const DIRECTORY = 3;
const REGULAR_FILE = 4;

// witx: rights.
const RIGHT = {
  read: 1n << 1n,
  seek: 1n << 2n,
  tell: 1n << 5n,
  write: 1n << 6n,
  advise: 1n << 7n,
  pathOpen: 1n << 13n,
  readdir: 1n << 14n,
  readlink: 1n << 15n,
  pathStat: 1n << 18n,
  fileStat: 1n << 21n,
  poll: 1n << 27n,
};
const FILE_RIGHTS = RIGHT.read | RIGHT.seek | RIGHT.tell | RIGHT.advise | RIGHT.fileStat | RIGHT.poll;
const DIRECTORY_RIGHTS = RIGHT.pathOpen | RIGHT.readdir | RIGHT.readlink | RIGHT.pathStat | RIGHT.fileStat;

// witx: oflags.
const OPEN_CREATE = 1;
const OPEN_DIRECTORY = 2;
const OPEN_TRUNCATE = 8;

type OpenFile =
  | { readonly kind: "closed" }
  | { readonly kind: "input"; offset: number }
  | { readonly kind: "output" }
  | { readonly kind: "error" }
  | { readonly kind: "node"; readonly node: FileNode; offset: number; readonly isPreopen: boolean };

const CLOSED: OpenFile = { kind: "closed" };

const typeOf = (file: OpenFile): number => (file.kind !== "node" ? CHARACTER_DEVICE : file.node.children ? DIRECTORY : REGULAR_FILE);

export class WasiFiles {
  readonly #world: WasiWorld;
  readonly #open: OpenFile[];
  readonly #out = new GrowingBytes();
  readonly #err = new GrowingBytes();
  #written = 0; // bytes, to both

  constructor(world: WasiWorld) {
    this.#world = world;
    this.#open = [{ kind: "input", offset: 0 }, { kind: "output" }, { kind: "error" }];
    if (world.files) this.#open.push({ kind: "node", node: treeOf(world.files), offset: 0, isPreopen: true });
  }

  get output(): Bytes {
    return this.#out.bytes;
  }
  get errorText(): string {
    return decode(this.#err.bytes);
  }

  has(descriptor: number): boolean {
    return this.#file(descriptor) !== null;
  }

  functions(): Record<string, WasiFunction> {
    const { memory } = this.#world;
    const ifOpen = (result: Errno) => (fd: number) => (this.has(u(fd)) ? result : Errno.BADF);
    const accept = ifOpen(Errno.SUCCESS);
    const readOnly = ifOpen(Errno.ROFS);
    const notASocket = ifOpen(Errno.NOTSOCK);
    const pathReadOnly = () => Errno.ROFS;
    return {
      fd_advise: accept,
      fd_allocate: readOnly,
      fd_close: (fd: number) => {
        if (!this.has(u(fd))) return Errno.BADF;
        this.#open[u(fd)] = CLOSED;
        return Errno.SUCCESS;
      },
      fd_datasync: accept,
      fd_fdstat_get: (fd: number, at: number) => this.#fdstat(u(fd), u(at)),
      fd_fdstat_set_flags: accept,
      fd_fdstat_set_rights: accept,
      fd_filestat_get: (fd: number, at: number) => {
        const file = this.#file(u(fd));
        return file ? this.#putFilestat(u(at), file) : Errno.BADF;
      },
      fd_filestat_set_size: readOnly,
      fd_filestat_set_times: readOnly,
      fd_pread: (fd: number, vectors: number, count: number, offset: bigint, at: number) => {
        const file = this.#file(u(fd));
        if (!file) return Errno.BADF;
        if (file.kind !== "node") return Errno.SPIPE;
        return this.#read(file, Number(BigInt.asUintN(64, offset)), u(vectors), u(count), u(at));
      },
      fd_prestat_dir_name: (fd: number, at: number, length: number) => {
        if (!this.#isPreopen(u(fd))) return Errno.BADF;
        if (u(length) < PREOPEN.length) return Errno.NAMETOOLONG;
        const to = memory.piece(u(at), PREOPEN.length);
        to?.set(PREOPEN);
        return orFault(to !== null);
      },
      fd_prestat_get: (fd: number, at: number) => {
        if (!this.#isPreopen(u(fd))) return Errno.BADF;
        return orFault(memory.put32(u(at), 0) && memory.put32(u(at) + 4, PREOPEN.length));
      },
      fd_pwrite: readOnly,
      fd_read: (fd: number, vectors: number, count: number, at: number) => {
        const file = this.#file(u(fd));
        if (!file) return Errno.BADF;
        const result = this.#read(file, "offset" in file ? file.offset : 0, u(vectors), u(count), u(at));
        if (result === Errno.SUCCESS && "offset" in file) file.offset += memory.u32(u(at));
        return result;
      },
      fd_readdir: (fd: number, at: number, length: number, cookie: bigint, used: number) =>
        this.#readdir(u(fd), u(at), u(length), BigInt.asUintN(64, cookie), u(used)),
      fd_renumber: (from: number, to: number) => {
        const file = this.#file(u(from));
        if (!file || !this.has(u(to))) return Errno.BADF;
        this.#open[u(from)] = CLOSED;
        this.#open[u(to)] = file;
        return Errno.SUCCESS;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, at: number) => this.#seek(u(fd), offset, u(whence), u(at)),
      fd_sync: accept,
      fd_tell: (fd: number, at: number) => {
        const file = this.#file(u(fd));
        if (!file) return Errno.BADF;
        return file.kind === "node" ? orFault(memory.put64(u(at), BigInt(file.offset))) : Errno.SPIPE;
      },
      fd_write: (fd: number, vectors: number, count: number, at: number) => this.#write(u(fd), u(vectors), u(count), u(at)),
      path_create_directory: pathReadOnly,
      path_filestat_get: (fd: number, _flags: number, at: number, length: number, to: number) => {
        const node = this.#resolve(u(fd), u(at), u(length));
        return typeof node === "number" ? node : this.#putFilestat(u(to), { kind: "node", node, offset: 0, isPreopen: false });
      },
      path_filestat_set_times: pathReadOnly,
      path_link: pathReadOnly,
      path_open: (fd: number, _lookup: number, at: number, length: number, flags: number, rights: bigint, _inheriting: bigint, _fdflags: number, to: number) =>
        this.#openPath(this.#resolve(u(fd), u(at), u(length)), flags, rights, u(to)),
      path_readlink: (fd: number, at: number, length: number) => {
        const node = this.#resolve(u(fd), u(at), u(length));
        return typeof node === "number" ? node : Errno.INVAL; // there is no symbolic link in a package
      },
      path_remove_directory: pathReadOnly,
      path_rename: pathReadOnly,
      path_symlink: pathReadOnly,
      path_unlink_file: pathReadOnly,
      sock_accept: notASocket,
      sock_recv: notASocket,
      sock_send: notASocket,
      sock_shutdown: notASocket,
    };
  }

  #file(descriptor: number): Exclude<OpenFile, { kind: "closed" }> | null {
    const file = this.#open[descriptor];
    return file && file.kind !== "closed" ? file : null;
  }
  #isPreopen(descriptor: number): boolean {
    const file = this.#file(descriptor);
    return file?.kind === "node" && file.isPreopen;
  }

  #resolve(descriptor: number, at: number, length: number): FileNode | Errno {
    const base = this.#file(descriptor);
    if (!base) return Errno.BADF;
    if (base.kind !== "node") return Errno.NOTDIR;
    const piece = this.#world.memory.piece(at, length);
    if (!piece) return Errno.FAULT;
    if (length === 0) return Errno.NOENT;
    if (length > LONGEST_PATH) return Errno.NAMETOOLONG;
    let path;
    try {
      path = decodeStrictly(piece);
    } catch {
      return Errno.ILSEQ;
    }
    if (path.includes("\0")) return Errno.ILSEQ;
    if (path.startsWith("/")) return Errno.NOTCAPABLE;
    let node = base.node;
    for (const part of path.split("/")) {
      if (!node.children) return Errno.NOTDIR;
      if (part === "" || part === ".") continue;
      if (part === "..") {
        // A descriptor gives what is below it and nothing else.
        if (node === base.node || !node.parent) return Errno.NOTCAPABLE;
        node = node.parent;
        continue;
      }
      const child = node.children.get(part);
      if (!child) return Errno.NOENT;
      node = child;
    }
    return node;
  }

  #openPath(node: FileNode | Errno, flags: number, rights: bigint, to: number): Errno {
    if (node === Errno.NOENT && flags & OPEN_CREATE) return Errno.ROFS;
    if (typeof node === "number") return node;
    if (flags & OPEN_DIRECTORY && !node.children) return Errno.NOTDIR;
    // Directories are often opened with every right there is; only for a file does asking to write mean it.
    if (flags & OPEN_TRUNCATE || (!node.children && rights & RIGHT.write)) return Errno.ROFS;
    let slot = this.#open.findIndex((file) => file.kind === "closed");
    if (slot < 0) slot = this.#open.length;
    if (slot >= MOST_FILES) return Errno.MFILE;
    if (!this.#world.memory.put32(to, slot)) return Errno.FAULT;
    this.#open[slot] = { kind: "node", node, offset: 0, isPreopen: false };
    return Errno.SUCCESS;
  }

  /** Puts what it read to the vectors, and how many bytes that are to `at`. */
  #read(file: OpenFile, offset: number, vectors: number, count: number, at: number): Errno {
    const { memory } = this.#world;
    if (!memory.has(at, 4)) return Errno.FAULT;
    const whole = this.#contentOf(file);
    if (typeof whole === "number") return whole;
    if (!memory.has(vectors, count * 8)) return Errno.FAULT;
    let content = whole.subarray(Math.min(offset, whole.length));
    let total = 0;
    for (let i = 0; i < count && content.length > 0; ++i) {
      const to = memory.piece(memory.u32(vectors + 8 * i), memory.u32(vectors + 8 * i + 4));
      if (!to) return Errno.FAULT;
      const part = content.subarray(0, to.length);
      to.set(part);
      content = content.subarray(part.length);
      total += part.length;
    }
    return orFault(memory.put32(at, total));
  }
  #contentOf(file: OpenFile): Bytes | Errno {
    if (file.kind === "input") return this.#world.input;
    if (file.kind !== "node") return Errno.BADF;
    return file.node.children ? Errno.ISDIR : file.node.content;
  }

  #write(descriptor: number, vectors: number, count: number, at: number): Errno {
    const { memory } = this.#world;
    const file = this.#file(descriptor);
    const to = file?.kind === "output" ? this.#out : file?.kind === "error" ? this.#err : null;
    if (!to) return Errno.BADF;
    if (!memory.has(vectors, count * 8) || !memory.has(at, 4)) return Errno.FAULT;
    let total = 0;
    for (let i = 0; i < count; ++i) {
      const piece = memory.piece(memory.u32(vectors + 8 * i), memory.u32(vectors + 8 * i + 4));
      if (!piece) return Errno.FAULT;
      this.#keep(to, piece);
      total += piece.length;
    }
    return orFault(memory.put32(at, total));
  }
  #keep(to: GrowingBytes, piece: Bytes): void {
    const { name, outputBytes, ending } = this.#world;
    this.#written += piece.length;
    if (this.#written > outputBytes) ending.end(new Failure(`${name} printed more than ${mebibytes(outputBytes)}, the preview's limit`));
    to.add(piece);
  }

  #seek(descriptor: number, offset: bigint, whence: number, at: number): Errno {
    const file = this.#file(descriptor);
    if (!file) return Errno.BADF;
    if (file.kind !== "node") return Errno.SPIPE;
    if (file.node.children) return Errno.ISDIR;
    const base = [0, file.offset, file.node.content.length][whence];
    if (base === undefined) return Errno.INVAL;
    const target = BigInt(base) + BigInt.asIntN(64, offset);
    if (target < 0n || target > 2n ** 63n - 1n) return Errno.INVAL;
    if (!this.#world.memory.put64(at, target)) return Errno.FAULT;
    file.offset = Number(target);
    return Errno.SUCCESS;
  }

  #fdstat(descriptor: number, at: number): Errno {
    const file = this.#file(descriptor);
    if (!file) return Errno.BADF;
    const stat = this.#world.memory.piece(at, 24);
    if (!stat) return Errno.FAULT;
    stat.fill(0);
    stat[0] = typeOf(file);
    let rights = (file.kind === "input" ? RIGHT.read : RIGHT.write) | RIGHT.poll | RIGHT.fileStat;
    let inheriting = 0n;
    if (file.kind === "node") {
      rights = file.node.children ? DIRECTORY_RIGHTS : FILE_RIGHTS;
      inheriting = file.node.children ? DIRECTORY_RIGHTS | FILE_RIGHTS : 0n;
    }
    return orFault(this.#world.memory.put64(at + 8, rights) && this.#world.memory.put64(at + 16, inheriting));
  }

  // The device and all times are zero.
  #putFilestat(at: number, file: OpenFile): Errno {
    const { memory } = this.#world;
    const stat = memory.piece(at, 64);
    if (!stat) return Errno.FAULT;
    stat.fill(0);
    stat[16] = typeOf(file);
    const node = file.kind === "node" ? file.node : null;
    memory.put64(at + 8, BigInt(node?.inode ?? 0));
    memory.put64(at + 24, 1n);
    memory.put64(at + 32, BigInt(node && !node.children ? node.content.length : 0));
    return Errno.SUCCESS;
  }

  // ".", "..", then the children in order; a cookie is the number of the entry to begin with. An entry that doesn't fit is cut off, so that
  // the guest asks again with a larger buffer (witx: fd_readdir). The parent of what was opened is outside of what it gives, so "..", too,
  // has the inode of the directory itself.
  #readdir(descriptor: number, at: number, length: number, cookie: bigint, used: number): Errno {
    const { memory } = this.#world;
    const file = this.#file(descriptor);
    if (!file) return Errno.BADF;
    if (file.kind !== "node" || !file.node.children) return Errno.NOTDIR;
    const buffer = memory.piece(at, length);
    if (!buffer || !memory.has(used, 4)) return Errno.FAULT;
    const entries: [string, FileNode][] = [[".", file.node], ["..", file.node], ...file.node.children];
    let size = 0;
    const append = (bytes: Bytes) => {
      const part = bytes.subarray(0, buffer.length - size);
      buffer.set(part, size);
      size += part.length;
    };
    for (let i = Number(cookie); i < entries.length && size < buffer.length; ++i) {
      const [name, node] = entries[i]!;
      const text = encode(name);
      const entry = new Uint8Array(24);
      const fields = new DataView(entry.buffer);
      fields.setBigUint64(0, BigInt(i + 1), true);
      fields.setBigUint64(8, BigInt(node.inode), true);
      fields.setUint32(16, text.length, true);
      entry[20] = node.children ? DIRECTORY : REGULAR_FILE;
      append(entry);
      append(text);
    }
    return orFault(memory.put32(used, size));
  }
}
