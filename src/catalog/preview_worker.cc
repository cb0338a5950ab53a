#include "catalog/preview_script.h"

namespace mist::catalog {
namespace {

constexpr std::string_view kPreviewWorker = R"js("use strict";
// Renders a package: runs its engine with its files in the sandbox that WebAssembly is. What a guest sees is what
// mistctl gives it (src/wasm/wasi.cc, src/package/host.cc). One render; the page ends this worker at its limits.

const SUCCESS = 0, BADF = 8, FAULT = 21, ILSEQ = 25, INVAL = 28, ISDIR = 31, MFILE = 33, NAMETOOLONG = 37, NOENT = 44, NOTDIR = 54,
  NOTSOCK = 57, NOTSUP = 58, ROFS = 69, SPIPE = 70, NOTCAPABLE = 76;
const MOST_FILES = 1024, MOST_REQUEST = 1 << 20, MOST_REQUESTS_BYTES = 16 << 20, MOST_LINES = 200, LONGEST_LINE = 4096;
const MOST_UNPACKED = (64 << 20) + 10000 * 4096;
const ENDS = 2n ** 64n - 1n;
const utf8 = new TextEncoder();
const strictly = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// An error as mistctl shows it: message, where, because, hint.
class Failure extends Error {
  constructor(message, details = {}) {
    super(message);
    Object.assign(this, details);
  }
}
class Exit extends Error {
  constructor(code) {
    super("exit");
    this.code = code;
  }
}

// SHA-256 and what is made of it, for random_get: crypto.subtle answers later, and a guest can't wait.

const ROUND = new Uint32Array(64);
const START = new Uint32Array(8);
(() => {
  const fraction = (number) => Math.floor((number - Math.floor(number)) * 2 ** 32);
  let count = 0;
  for (let prime = 2; count < 64; ++prime) {
    let composite = false;
    for (let i = 2; i * i <= prime; ++i) composite ||= prime % i === 0;
    if (composite) continue;
    if (count < 8) START[count] = fraction(Math.sqrt(prime));
    ROUND[count++] = fraction(Math.cbrt(prime));
  }
})();

function sha256(bytes) {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const hash = START.slice();
  const w = new Uint32Array(64);
  const rotate = (x, n) => (x >>> n) | (x << (32 - n));
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; ++i) w[i] = view.getUint32(at + 4 * i);
    for (let i = 16; i < 64; ++i) {
      const a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = hash;
    for (let i = 0; i < 64; ++i) {
      const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => { hash[i] += x; });
  }
  const out = new Uint8Array(32);
  hash.forEach((x, i) => new DataView(out.buffer).setUint32(4 * i, x));
  return out;
}

const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

function hmac(key, text) {
  const padded = new Uint8Array(64);
  padded.set(key.length > 64 ? sha256(key) : key);
  return sha256(joined(padded.map((x) => x ^ 0x5c), sha256(joined(padded.map((x) => x ^ 0x36), text))));
}

// src/crypto/random_stream.h, version 1.
class RandomStream {
  constructor(seed, name) {
    const secret = hmac(new Uint8Array(32), seed);
    this.key = hmac(secret, joined(utf8.encode(`mistletoe/random-stream/v1/${name}`), Uint8Array.of(1)));
    this.next = 0n;
    this.block = new Uint8Array(0);
  }
  fill(out) {
    for (let i = 0; i < out.length; ++i) {
      if (this.block.length === 0) {
        const counter = new Uint8Array(8);
        new DataView(counter.buffer).setBigUint64(0, this.next++, true);
        this.block = hmac(this.key, counter);
      }
      out[i] = this.block[0];
      this.block = this.block.subarray(1);
    }
  }
}

// The files of a package.

function untar(tar) {
  const files = new Map();
  const decoder = strictly();
  const text = (at, length) => {
    const field = tar.subarray(at, at + length);
    const end = field.indexOf(0);
    return decoder.decode(end < 0 ? field : field.subarray(0, end));
  };
  let longer = null;
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const size = parseInt(text(at + 124, 12), 8) || 0;
    const type = String.fromCharCode(tar[at + 156]);
    const content = tar.subarray(at + 512, at + 512 + size);
    if (type === "x") longer = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(decoder.decode(content))?.[1] ?? longer;
    else if (type === "0") {
      files.set(longer ?? text(at, 100), content);
      longer = null;
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

async function unpacked(bytes) {
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(...parts);
    size += value.length;
    if (size > MOST_UNPACKED) throw new Failure("the package is too large once it is unpacked");
    parts.push(value);
  }
}

// By the bytes of UTF-8, as mistctl sorts.
function byBytes(a, b) {
  const one = utf8.encode(a), other = utf8.encode(b);
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; ++i) if (one[i] !== other[i]) return one[i] - other[i];
  return one.length - other.length;
}

// Nodes in the order in which they are first needed; children by name.
function treeOf(files) {
  const root = { name: "", parent: null, children: new Map(), content: null, inode: 1 };
  const nodes = [root];
  for (const path of [...files.keys()].sort(byBytes)) {
    let node = root;
    const parts = path.split("/");
    parts.forEach((part, i) => {
      let child = node.children.get(part);
      if (!child) {
        const isFile = i === parts.length - 1;
        child = { name: part, parent: node, children: isFile ? null : new Map(), content: isFile ? files.get(path) : null, inode: nodes.length + 1 };
        nodes.push(child);
        node.children.set(part, child);
      }
      node = child;
    });
  }
  for (const node of nodes) if (node.children) node.children = new Map([...node.children].sort(([a], [b]) => byBytes(a, b)));
  return root;
}

// What a guest asks of its world.
class World {
  constructor(plan, input, files) {
    this.plan = plan;
    this.input = utf8.encode(input);
    this.files = [{ kind: "in", offset: 0 }, { kind: "out" }, { kind: "err" }, { kind: "node", node: treeOf(files), offset: 0, preopen: true }];
    this.out = [];
    this.err = [];
    this.written = 0;
    this.monotonic = 0n;
    this.streams = new Map();
    this.stream = "";
    this.entered = false;
    this.drawn = 0;
    this.answer = null;
    this.requests = 0;
    this.requestBytes = 0;
    this.lines = [];
    this.secrets = new Map();
    this.stop = null;
  }

  get bytes() { return new Uint8Array(this.memory.buffer); }
  get view() { return new DataView(this.memory.buffer); }
  has(at, length) { return at + length <= this.memory.buffer.byteLength; }
  piece(at, length) { return this.has(at, length) ? this.bytes.subarray(at, at + length) : null; }
  u32(at) { return this.view.getUint32(at, true); }
  put32(at, value) {
    if (!this.has(at, 4)) return FAULT;
    this.view.setUint32(at, value, true);
    return SUCCESS;
  }
  put64(at, value) {
    if (!this.has(at, 8)) return FAULT;
    this.view.setBigUint64(at, value, true);
    return SUCCESS;
  }
  // A guest can't catch it.
  end(failure) {
    this.stop = failure;
    throw failure;
  }

  file(descriptor) {
    const file = this.files[descriptor];
    return file?.kind ? file : null;
  }
  readClock() {
    const now = this.monotonic;
    this.monotonic = now + 1000n > ENDS ? ENDS : now + 1000n;
    return now;
  }
  random() {
    if (!this.streams.has(this.stream)) {
      const name = this.stream === "" ? "wasi" : `wasi/${this.stream}`;
      this.streams.set(this.stream, new RandomStream(Uint8Array.from(this.plan.seed.match(/../g), (pair) => parseInt(pair, 16)), name));
    }
    return this.streams.get(this.stream);
  }
  write(to, piece) {
    this.written += piece.length;
    if (this.written > this.plan.limits.outputBytes)
      this.end(new Failure(`${this.plan.name} printed more than ${megabytes(this.plan.limits.outputBytes)}, the preview's limit`));
    to.push(piece.slice());
  }

  // [node, errno]
  resolve(descriptor, at, length) {
    const base = this.file(descriptor);
    if (!base) return [null, BADF];
    if (base.kind !== "node") return [null, NOTDIR];
    const piece = this.piece(at, length);
    if (!piece) return [null, FAULT];
    if (length === 0) return [null, NOENT];
    if (length > 4096) return [null, NAMETOOLONG];
    let path;
    try {
      path = strictly().decode(piece);
    } catch {
      return [null, ILSEQ];
    }
    if (path.includes("\0")) return [null, ILSEQ];
    if (path.startsWith("/")) return [null, NOTCAPABLE];
    let node = base.node;
    for (const part of path.split("/")) {
      if (!node.children) return [null, NOTDIR];
      if (part === "" || part === ".") continue;
      if (part === "..") {
        if (node === base.node) return [null, NOTCAPABLE];
        node = node.parent;
        continue;
      }
      node = node.children.get(part);
      if (!node) return [null, NOENT];
    }
    return [node, SUCCESS];
  }
  putStat(at, file) {
    const stat = this.piece(at, 64);
    if (!stat) return FAULT;
    stat.fill(0);
    const node = file.kind === "node" ? file.node : null;
    stat[16] = !node ? 2 : node.children ? 3 : 4;
    this.view.setBigUint64(at + 8, BigInt(node?.inode ?? 0), true);
    this.view.setBigUint64(at + 24, 1n, true);
    this.view.setBigUint64(at + 32, BigInt(node?.content?.length ?? 0), true);
    return SUCCESS;
  }
  readAt(file, offset, vectors, count) {
    let content;
    if (file.kind === "in") content = this.input;
    else if (file.kind === "node") {
      if (file.node.children) return [0, ISDIR];
      content = file.node.content;
    } else return [0, BADF];
    if (!this.has(vectors, count * 8)) return [0, FAULT];
    content = content.subarray(Math.min(offset, content.length));
    let total = 0;
    for (let i = 0; i < count && content.length > 0; ++i) {
      const to = this.piece(this.u32(vectors + 8 * i), this.u32(vectors + 8 * i + 4));
      if (!to) return [0, FAULT];
      const part = content.subarray(0, to.length);
      to.set(part);
      content = content.subarray(part.length);
      total += part.length;
    }
    return [total, SUCCESS];
  }

  wasi() {
    const w = this;
    const u = (x) => x >>> 0;
    const accept = (fd) => (w.file(u(fd)) ? SUCCESS : BADF);
    const readOnly = (fd) => (w.file(u(fd)) ? ROFS : BADF);
    const notASocket = (fd) => (w.file(u(fd)) ? NOTSOCK : BADF);
    const pathReadOnly = () => ROFS;
    const argument = utf8.encode("package\0");
    return {
      args_sizes_get: (count, size) => w.put32(u(count), 1) || w.put32(u(size), argument.length),
      args_get: (pointers, buffer) => {
        const to = w.piece(u(buffer), argument.length);
        if (!to) return FAULT;
        to.set(argument);
        return w.put32(u(pointers), u(buffer));
      },
      environ_sizes_get: (count, size) => w.put32(u(count), 0) || w.put32(u(size), 0),
      environ_get: () => SUCCESS,
      clock_res_get: (id, at) => (u(id) > 3 ? INVAL : w.put64(u(at), 1000n)),
      clock_time_get: (id, _, at) => (u(id) > 3 ? INVAL : w.put64(u(at), u(id) === 0 ? BigInt(w.plan.clock) : w.readClock())),
      random_get: (at, length) => {
        const to = w.piece(u(at), u(length));
        if (!to) return FAULT;
        w.random().fill(to);
        if (w.entered) w.drawn += to.length;
        return SUCCESS;
      },
      sched_yield: () => SUCCESS,
      proc_raise: () => NOTSUP,
      proc_exit: (code) => w.end(new Exit(u(code))),
      poll_oneoff: (from, to, count, at) => {
        from = u(from), to = u(to), count = u(count), at = u(at);
        if (count === 0) return INVAL;
        if (!w.has(from, count * 48) || !w.has(to, count * 32) || !w.has(at, 4)) return FAULT;
        const due = (s) => {
          const timeout = w.view.getBigUint64(s + 24, true);
          if (!(w.view.getUint16(s + 40, true) & 1)) return timeout;
          const now = w.u32(s + 16) === 0 ? BigInt(w.plan.clock) : w.monotonic;
          return timeout > now ? timeout - now : 0n;
        };
        let shortest = ENDS;
        for (let i = 0; i < count; ++i) {
          const tag = w.bytes[from + i * 48 + 8];
          if (tag > 2) return INVAL;
          const wait = tag === 0 ? due(from + i * 48) : 0n;
          if (wait < shortest) shortest = wait;
        }
        let events = 0;
        for (let i = 0; i < count; ++i) {
          const s = from + i * 48, tag = w.bytes[s + 8];
          if (tag === 0 && due(s) > shortest) continue;
          const event = to + events * 32;
          const userdata = w.view.getBigUint64(s, true);
          const result = tag !== 0 && !w.file(w.u32(s + 16)) ? BADF : SUCCESS;
          w.bytes.fill(0, event, event + 32);
          w.view.setBigUint64(event, userdata, true);
          w.view.setUint16(event + 8, result, true);
          w.bytes[event + 10] = tag;
          ++events;
        }
        w.monotonic += shortest;
        if (w.monotonic >= ENDS) w.end(new Failure(`${w.plan.name} would sleep for ever`));
        return w.put32(at, events);
      },
      fd_advise: accept, fd_datasync: accept, fd_sync: accept, fd_fdstat_set_flags: accept, fd_fdstat_set_rights: accept,
      fd_allocate: readOnly, fd_filestat_set_size: readOnly, fd_filestat_set_times: readOnly, fd_pwrite: readOnly,
      path_create_directory: pathReadOnly, path_filestat_set_times: pathReadOnly, path_link: pathReadOnly,
      path_remove_directory: pathReadOnly, path_rename: pathReadOnly, path_symlink: pathReadOnly, path_unlink_file: pathReadOnly,
      sock_accept: notASocket, sock_recv: notASocket, sock_send: notASocket, sock_shutdown: notASocket,
      fd_close: (fd) => {
        if (!w.file(u(fd))) return BADF;
        w.files[u(fd)] = {};
        return SUCCESS;
      },
      fd_renumber: (from, to) => {
        if (!w.file(u(from)) || !w.file(u(to))) return BADF;
        if (u(from) !== u(to)) [w.files[u(to)], w.files[u(from)]] = [w.files[u(from)], {}];
        return SUCCESS;
      },
      fd_read: (fd, vectors, count, at) => {
        const file = w.file(u(fd));
        if (!file) return BADF;
        if (!w.has(u(at), 4)) return FAULT;
        const [total, result] = w.readAt(file, file.offset, u(vectors), u(count));
        if (result !== SUCCESS) return result;
        file.offset += total;
        return w.put32(u(at), total);
      },
      fd_pread: (fd, vectors, count, offset, at) => {
        const file = w.file(u(fd));
        if (!file) return BADF;
        if (file.kind !== "node") return SPIPE;
        const [total, result] = w.readAt(file, Number(BigInt.asUintN(64, offset)), u(vectors), u(count));
        return result || w.put32(u(at), total);
      },
      fd_write: (fd, vectors, count, at) => {
        const file = w.file(u(fd));
        const to = file?.kind === "out" ? w.out : file?.kind === "err" ? w.err : null;
        if (!to) return BADF;
        vectors = u(vectors), count = u(count);
        if (!w.has(vectors, count * 8) || !w.has(u(at), 4)) return FAULT;
        let total = 0;
        for (let i = 0; i < count; ++i) {
          const piece = w.piece(w.u32(vectors + 8 * i), w.u32(vectors + 8 * i + 4));
          if (!piece) return FAULT;
          w.write(to, piece);
          total += piece.length;
        }
        return w.put32(u(at), total);
      },
      fd_seek: (fd, offset, whence, at) => {
        const file = w.file(u(fd));
        if (!file) return BADF;
        if (file.kind !== "node") return SPIPE;
        if (file.node.children) return ISDIR;
        if (u(whence) > 2) return INVAL;
        const target = BigInt([0, file.offset, file.node.content.length][u(whence)]) + BigInt.asIntN(64, offset);
        if (target < 0n || target > 2n ** 63n - 1n) return INVAL;
        file.offset = Number(target);
        return w.put64(u(at), target);
      },
      fd_tell: (fd, at) => {
        const file = w.file(u(fd));
        return !file ? BADF : file.kind !== "node" ? SPIPE : w.put64(u(at), BigInt(file.offset));
      },
      fd_fdstat_get: (fd, at) => {
        const file = w.file(u(fd));
        if (!file) return BADF;
        const stat = w.piece(u(at), 24);
        if (!stat) return FAULT;
        stat.fill(0);
        const bits = (...numbers) => numbers.reduce((sum, n) => sum | (1n << BigInt(n)), 0n);
        const ofFile = bits(1, 2, 5, 7, 21, 27), ofDirectory = bits(13, 14, 15, 18, 21);
        const isDirectory = file.kind === "node" && file.node.children !== null;
        stat[0] = file.kind !== "node" ? 2 : isDirectory ? 3 : 4;
        const rights = file.kind === "node" ? (isDirectory ? ofDirectory : ofFile) : bits(file.kind === "in" ? 1 : 6, 27, 21);
        w.view.setBigUint64(u(at) + 8, rights, true);
        w.view.setBigUint64(u(at) + 16, isDirectory ? ofDirectory | ofFile : 0n, true);
        return SUCCESS;
      },
      fd_filestat_get: (fd, at) => {
        const file = w.file(u(fd));
        return file ? w.putStat(u(at), file) : BADF;
      },
      fd_prestat_get: (fd, at) => (w.file(u(fd))?.preopen ? w.put32(u(at), 0) || w.put32(u(at) + 4, 8) : BADF),
      fd_prestat_dir_name: (fd, at, length) => {
        if (!w.file(u(fd))?.preopen) return BADF;
        if (u(length) < 8) return NAMETOOLONG;
        const to = w.piece(u(at), 8);
        to?.set(utf8.encode("/package"));
        return to ? SUCCESS : FAULT;
      },
      fd_readdir: (fd, at, length, cookie, used) => {
        const file = w.file(u(fd));
        if (!file) return BADF;
        if (file.kind !== "node" || !file.node.children) return NOTDIR;
        const buffer = w.piece(u(at), u(length));
        if (!buffer || !w.has(u(used), 4)) return FAULT;
        const children = [...file.node.children.values()];
        let size = 0;
        const append = (bytes) => {
          const part = bytes.subarray(0, buffer.length - size);
          buffer.set(part, size);
          size += part.length;
        };
        for (let i = Number(BigInt.asUintN(64, cookie)); i < children.length + 2 && size < buffer.length; ++i) {
          const node = i > 1 ? children[i - 2] : file.node;
          const name = utf8.encode(i === 0 ? "." : i === 1 ? ".." : node.name);
          const entry = new Uint8Array(24), fields = new DataView(entry.buffer);
          fields.setBigUint64(0, BigInt(i + 1), true);
          fields.setBigUint64(8, BigInt(node.inode), true);
          fields.setUint32(16, name.length, true);
          entry[20] = node.children ? 3 : 4;
          append(entry);
          append(name);
        }
        return w.put32(u(used), size);
      },
      path_open: (fd, _, at, length, flags, rights, __, ___, to) => {
        const [node, result] = w.resolve(u(fd), u(at), u(length));
        if (result === NOENT && flags & 1) return ROFS;
        if (result !== SUCCESS) return result;
        if (flags & 2 && !node.children) return NOTDIR;
        if (flags & 8 || (!node.children && rights & 64n)) return ROFS;
        let slot = w.files.findIndex((file) => !file.kind);
        if (slot < 0) slot = w.files.length;
        if (slot >= MOST_FILES) return MFILE;
        if (w.put32(u(to), slot) !== SUCCESS) return FAULT;
        w.files[slot] = { kind: "node", node, offset: 0 };
        return SUCCESS;
      },
      path_filestat_get: (fd, _, at, length, to) => {
        const [node, result] = w.resolve(u(fd), u(at), u(length));
        return result || w.putStat(u(to), { kind: "node", node });
      },
      path_readlink: (fd, at, length) => w.resolve(u(fd), u(at), u(length))[1] || INVAL,
    };
  }

  // Requests to the host.
  host() {
    const w = this;
    return {
      request: (at, length) => {
        at >>>= 0, length >>>= 0;
        const piece = w.piece(at, length);
        if (!piece) w.end(new Failure(`${w.plan.name} asked from outside of its memory`));
        w.requestBytes += length;
        if (length > MOST_REQUEST || w.requestBytes > MOST_REQUESTS_BYTES || ++w.requests > w.plan.limits.requests)
          w.end(new Failure(`${w.plan.name} asks its host too often, or for too much`));
        let answer;
        try {
          answer = { ok: w.answered(JSON.parse(strictly().decode(piece))) };
        } catch (failure) {
          if (!(failure instanceof Failure || failure instanceof SyntaxError || failure instanceof TypeError)) throw failure;
          answer = { error: { kind: "Invalid", message: failure.message, hint: failure.hint ?? null } };
        }
        w.answer = utf8.encode(JSON.stringify(answer));
        return w.answer.length;
      },
      response: (at) => {
        const to = w.answer && w.piece(at >>> 0, w.answer.length);
        if (!to) w.end(new Failure(`${w.plan.name} wants an answer that it can't have`));
        to.set(w.answer);
      },
    };
  }
  answered(request) {
    switch (request.op) {
      case "random.stream":
        if (typeof request.name !== "string" || request.name.length > 1024) throw new Failure('random.stream: it takes "name", a text');
        this.stream = request.name;
        return {};
      case "log":
        if (this.lines.length < MOST_LINES && request.level !== "debug")
          this.lines.push({ level: String(request.level), text: String(request.message).slice(0, LONGEST_LINE) });
        return {};
      case "secret.hide":  // what its only reader gave
        return {};
      case "lookup":
        return request.name ? null : { items: [] };
      case "secret.get":
        return this.secret(request);
      case "package.call":
        throw new Failure("package.call: packages can't be called here");
      default:
        throw new Failure(`this preview knows no operation "${request.op}"`);
    }
  }
  // Of the form that was asked for, so that the package can use it; the result shows its name in its place.
  secret({ name, kind, length, alphabet, require }) {
    if (typeof name !== "string" || name === "") throw new Failure('secret.get: "name" is missing');
    const known = this.secrets.get(name);
    if (known) return known;
    const stream = new RandomStream(sha256(utf8.encode("a preview's secrets are no secrets")), name);
    const some = (count) => {
      const bytes = new Uint8Array(count);
      stream.fill(bytes);
      return bytes;
    };
    const letters = "abcdefghijklmnopqrstuvwxyz", digits = "0123456789";
    const drawn = (of, count) => [...some(count)].map((byte) => of[byte % of.length]).join("");
    const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const classes = { lower: /[a-z]/, upper: /[A-Z]/, digit: /[0-9]/, symbol: /[^a-zA-Z0-9]/ };
    const of = alphabet ?? letters + letters.toUpperCase() + digits;
    let secret;
    switch (kind) {
      case "password":
        do secret = { value: drawn(of, length ?? 24) };
        while (!(require ?? []).every((each) => classes[each]?.test(secret.value)) && this.tries++ < 10000);
        break;
      case "alphanumeric":
        secret = { value: drawn(of, length ?? 32) };
        break;
      case "hex":
        secret = { value: hex(some(length ?? 64)).slice(0, length ?? 64) };
        break;
      case "base64":
      case "bytes":
        secret = { value: btoa(String.fromCharCode(...some(length ?? 32))) };
        break;
      case "uuid":
        secret = { value: hex(some(16)).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5") };
        break;
      case "ed25519":
      case "ecdsa":
        secret = this.plan.keys[kind];
        break;
      default:
        throw new Failure(`secret.get: this preview knows no kind "${kind}"`);
    }
    this.secrets.set(name, secret);
    return secret;
  }
}
World.prototype.tries = 0;

const megabytes = (bytes) => `${Math.round(bytes / (1 << 20))} MiB`;

// Ends at a boundary of lines.
function tail(text) {
  text = text.trim();
  return text.length <= 16384 ? text : `… ${text.slice(-16384).replace(/^[^\n]*\n/, "")}`;
}

function couldNot(plan, details) {
  return new Failure(`${plan.name} could not be rendered`, { frames: [`while rendering ${plan.name}`], ...details });
}

function textOf(parts) {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(joined(...parts));
}

// Runs an engine once, and gives its result's `data`.
function run(plan, module, input, files, secrets) {
  const world = new World(plan, input, files);
  world.secrets = secrets;
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: world.wasi(), mistletoe_v1: world.host() });
  world.memory = instance.exports.memory;
  let code = 0;
  world.entered = true;
  try {
    instance.exports.mistletoe_generate();
  } catch (thrown) {
    const reason = world.stop ?? thrown;
    if (reason instanceof Failure) throw reason;
    if (!(reason instanceof Exit)) throw couldNot(plan, { because: trapWords(plan, world, reason) });
    code = reason.code;
  }
  const error = textOf(world.err);
  if (code !== 0) {
    if (isFull(plan, world)) throw couldNot(plan, { because: memoryWords(plan) });
    throw new Failure(`${plan.name} could not be rendered: it ended with exit code ${code}`,
                      { because: tail(error) || "it printed no reason to stderr", frames: [`while rendering ${plan.name}`] });
  }
  return { ...resultOf(plan, world, files), lines: world.lines, drawn: world.drawn };
}

// A guest whose memory can't grow ends soon after.
const isFull = (plan, world) => world.memory.buffer.byteLength > plan.limits.memoryBytes * 0.9;
const memoryWords = (plan) => `it reached the limit of ${megabytes(plan.limits.memoryBytes)} of memory that a preview has`;

function trapWords(plan, world, reason) {
  if (isFull(plan, world)) return memoryWords(plan);
  const said = tail(textOf(world.err));
  return `the engine stopped: ${reason.message}${said ? `\n${said}` : ""}`;
}

function resultOf(plan, world, files) {
  let document;
  try {
    document = JSON.parse(strictly().decode(joined(...world.out)));
  } catch (failure) {
    throw couldNot(plan, { because: `its result can't be read: ${failure.message}` });
  }
  const data = document?.data;
  if (document?.kind !== "MistResult" || typeof data !== "object" || data === null) throw couldNot(plan, { because: "its result has no data" });
  if (data.result !== "Ok")
    throw couldNot(plan, { because: String(data.message ?? "").trim() || "the package gave no reason", where: placeOf(data.where, files) });
  if (Array.isArray(data.missing) && data.missing.length > 0)
    throw new Failure(`${plan.name} needs what is elsewhere: ${JSON.stringify(data.missing)}`,
                      { hint: "copy it into the package, and name it by its path" });
  for (const [path, text] of Object.entries(data.files ?? {}))
    if (typeof text !== "string" || !isSafe(path)) throw couldNot(plan, { because: `${JSON.stringify(path)} can't be a file of its result` });
  return { files: data.files ?? {}, exports: data.exports ?? {} };
}

const isSafe = (path) => utf8.encode(path).length <= 1024 && !/[\u0000-\u001f\u007f\\]/.test(path) &&
  path.split("/").every((part) => part !== "" && part !== "." && part !== "..");

function placeOf(where, files) {
  if (typeof where !== "object" || where === null || typeof where.file !== "string") return null;
  const { file, line = 0, column = 0 } = where;
  let text = typeof where.text === "string" && where.text.length <= 2000 && !where.text.includes("\n") ? where.text : "";
  if (!text && line > 0 && files.has(file)) text = textOf([files.get(file)]).split("\n")[line - 1]?.replace(/\r$/, "") ?? "";
  return { file, line, column, text };
}

// The package as its script left it: src/package/pre_install.cc.
function afterScript(plan, files, { files: written, exports }) {
  if (exports.question) {
    const { name, prompt } = exports.question;
    throw new Failure(`${plan.name} asks for ${name}, and nobody answered`, { because: String(prompt), hint: "answer it in a file of values, and run mistctl generate" });
  }
  if (exports.needsHost)
    throw new Failure(`scripts/pre-install.py of ${plan.name} needs the Python of a machine`,
                      { where: placeOf(exports.where, files), because: `it uses ${exports.needsHost}, and in the sandbox there are no processes and no network` });
  const after = new Map([...files].filter(([path]) => path !== "scripts/pre-install.py" && !path.startsWith("templates/")));
  for (const path of exports.removed ?? []) if (path.startsWith("manifests/")) after.delete(path);
  for (const [path, text] of Object.entries(written)) if (path.startsWith("manifests/")) after.set(path, utf8.encode(text));
  return after;
}

// As `mistctl generate -o raw` prints them.
function printed(files) {
  const paths = Object.keys(files).sort(byBytes);
  return paths.map((path) => (paths.length > 1 ? `---\n# ${path}\n` : "") + files[path] + (files[path].endsWith("\n") ? "" : "\n")).join("");
}

// Without what stands for secrets, as it is or in base64.
function masked(text, secrets) {
  const plain = (value) => (value.length > 3 ? [value, btoa(String.fromCharCode(...utf8.encode(value)))] : []);
  const shown = new Map();
  for (const [name, { value }] of secrets) for (const each of plain(value)) if (!shown.has(each)) shown.set(each, `(secret ${name})`);
  // A key may stand in a block of YAML, line by line.
  for (const [name, { value }] of secrets)
    if (value.includes("\n")) for (const line of value.split("\n")) if (line.length > 20 && !line.startsWith("-----")) shown.set(line, `(secret ${name})`);
  for (const each of [...shown.keys()].sort((a, b) => b.length - a.length)) text = text.replaceAll(each, shown.get(each));
  return text;
}

// Documents that are objects; the items of a list count.
function countObjects(text) {
  let count = 0;
  for (const document of text.split(/^---(?=\s|$).*$/m)) {
    if (!/^\s*(#.*)?\S/m.test(document.replace(/^\s*#.*$/gm, ""))) continue;
    if (/^kind: *["']?MistOrder\b/m.test(document)) continue;
    const items = /^kind: *["']?\w*List["']?\s*$/m.test(document) ? document.match(/^\s{0,2}- (?=\S)/gm) : null;
    count += items?.length ?? 1;
  }
  return count;
}

async function fetched(url) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Failure("the catalog didn't give what the preview needs", { because: `${answer.status} for ${url}` });
  return WebAssembly.compileStreaming(answer);
}

async function render(plan, tell) {
  tell({ state: "loading" });
  const [module, ...engines] = await Promise.all([plan.module.url, ...plan.runs.map((each) => each.url)].map(fetched));
  const [archive] = WebAssembly.Module.customSections(module, "mistletoe.files");
  let files = untar(await unpacked(archive));
  tell({ state: "running" });
  const began = performance.now();
  const secrets = new Map();
  const lines = [];
  let drawn = 0, result = null;
  for (const [i, each] of plan.runs.entries()) {
    result = run(plan, engines[i], each.input, files, secrets);
    lines.push(...result.lines);
    drawn += result.drawn;
    if (each.script) files = afterScript(plan, files, result);
  }
  const text = printed(result.files);
  return { text: masked(text, secrets), objects: countObjects(text), lines: lines.map(({ level, text: said }) => ({ level, text: masked(said, secrets) })),
           drawn, secrets: [...secrets.keys()], milliseconds: Math.round(performance.now() - began) };
}

if (typeof WorkerGlobalScope !== "undefined")
  onmessage = async ({ data: plan }) => {
    try {
      postMessage({ state: "done", ...(await render(plan, (message) => postMessage(message))) });
    } catch (failure) {
      const { message, because = null, where = null, hint = null, frames = [] } = failure;
      postMessage({ state: "failed", error: { message: failure instanceof Failure ? message : "the preview could not be rendered",
                                              because: failure instanceof Failure ? because : message, where, hint, frames } });
    }
  };
)js";

}  // namespace

const std::string& preview_worker() {
  static const std::string text(kPreviewWorker);
  return text;
}

}  // namespace mist::catalog
