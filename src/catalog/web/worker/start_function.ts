// A module's start function runs while it is instantiated, when the host can't reach its memory yet: JavaScript gets a module's exports
// only afterwards. So it becomes an export, which the host calls first. Pure.
// https://webassembly.github.io/spec/core/binary/modules.html

import { type Bytes, encode, joined } from "./bytes.ts";

/** The name of that export in a module that withCallableStart made. */
export const START_EXPORT = "mistletoe: the start function";

const HEADER = 8; // bytes: magic and version
const EXPORTS = 7;
const START = 8;
const FUNCTION = 0;

interface Section {
  readonly id: number;
  readonly from: number;
  readonly content: number;
  readonly to: number;
}

/** The same module without a start function, which is exported instead; `module` itself where it has none, or is malformed: that is for the compiler to say. */
export function withCallableStart(module: Bytes): Bytes {
  const sections = sectionsOf(module);
  const start = sections?.find(({ id }) => id === START);
  const exports = sections?.find(({ id }) => id === EXPORTS);
  const index = start && numberAt(module, start.content);
  const count = exports && numberAt(module, exports.content);
  // Without exports there is no memory for the host to reach, and nothing to call afterwards.
  if (!start || !exports || !index || !count || index.to !== start.to) return module;
  const name = encode(START_EXPORT);
  const content = joined([
    leb(count.value + 1),
    module.subarray(count.to, exports.to),
    leb(name.length),
    name,
    Uint8Array.of(FUNCTION),
    leb(index.value),
  ]);
  return joined([
    module.subarray(0, exports.from),
    Uint8Array.of(EXPORTS),
    leb(content.length),
    content,
    module.subarray(exports.to, start.from),
    module.subarray(start.to),
  ]);
}

function sectionsOf(module: Bytes): Section[] | null {
  const sections: Section[] = [];
  for (let at = HEADER; at < module.length; ) {
    const size = numberAt(module, at + 1);
    if (!size || size.to + size.value > module.length) return null;
    sections.push({ id: module[at]!, from: at, content: size.to, to: size.to + size.value });
    at = size.to + size.value;
  }
  return sections;
}

/** LEB128 of 32 bits without a sign, and where it ends. */
function numberAt(module: Bytes, at: number): { readonly value: number; readonly to: number } | null {
  let value = 0;
  for (let i = 0; i < 5 && at + i < module.length; ++i) {
    const byte = module[at + i]!;
    value += (byte & 127) * 2 ** (7 * i);
    if (byte < 128) return value < 2 ** 32 ? { value, to: at + i + 1 } : null;
  }
  return null;
}

function leb(value: number): Bytes {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Uint8Array.from([...bytes, value]);
}
