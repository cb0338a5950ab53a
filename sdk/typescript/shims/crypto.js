// Node's `crypto`, as far as libraries name things by it: createHash(…).update(…).digest(…).

import { md5, sha1 } from "@noble/hashes/legacy.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";

const HASHES = { md5, sha1, sha256, sha512 };

export function createHash(name) {
  const hash = HASHES[name]?.create();
  if (hash === undefined) throw new Error(`a package has no hash ${name}`);
  return {
    update(data) {
      hash.update(typeof data === "string" ? new TextEncoder().encode(data) : data);
      return this;
    },
    digest(encoding) {
      const bytes = hash.digest();
      if (encoding === "hex") return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      if (encoding === undefined) return bytes;
      throw new Error(`a package has no digests in ${encoding}`);
    },
  };
}

export default { createHash };
