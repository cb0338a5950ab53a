// The files of a package, as `mistctl package build --thin` packs them (src/package/module_section.cc).

import { type Bytes, decodeStrictly, type Files, joined } from "./bytes.ts";
import { Failure } from "./failure.ts";

const BLOCK = 512; // bytes

/** Of a tar archive, its regular files. A size that leads out of it ends the file there. */
export function untar(tar: Bytes): Files {
  const files = new Map<string, Bytes>();
  const text = (at: number, length: number) => {
    const field = tar.subarray(at, at + length);
    const end = field.indexOf(0);
    return decodeStrictly(end < 0 ? field : field.subarray(0, end));
  };
  let longer: string | null = null; // the path of the next file, in an extended header
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0; ) {
    const size = parseInt(text(at + 124, 12), 8) || 0;
    const type = String.fromCharCode(tar[at + 156]!);
    const content = tar.subarray(at + BLOCK, at + BLOCK + size);
    if (type === "x") longer = /(?:^|\n)\d+ path=([^\n]*)\n/.exec(decodeStrictly(content))?.[1] ?? longer;
    else if (type === "0") {
      files.set(longer ?? text(at, 100), content);
      longer = null;
    }
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

/** Of gzip. Reads no more than `most` bytes. */
export async function unpacked(packed: Bytes | ArrayBuffer, most: number): Promise<Bytes> {
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts: Bytes[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(parts);
    size += value.length;
    if (size > most) throw new Failure("the package is too large once it is unpacked");
    parts.push(value);
  }
}
