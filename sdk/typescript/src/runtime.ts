// What JavaScript programs expect around them and QuickJS doesn't have; evaluated before a package's own code. Only in
// components: Node has all of it.

import * as log from "./log.ts";
import { fillRandomly, type RandomBytes } from "./random.ts";

const scope = globalThis as any;

scope.console = {
  debug: (...words: unknown[]) => log.debug(joined(words)),
  log: (...words: unknown[]) => log.info(joined(words)),
  info: (...words: unknown[]) => log.info(joined(words)),
  warn: (...words: unknown[]) => log.warn(joined(words)),
  error: (...words: unknown[]) => log.warn(joined(words)),
};
scope.TextEncoder ??= class TextEncoder {
  readonly encoding = "utf-8";
  encode(text = ""): Uint8Array {
    return Uint8Array.from(utf8(text));
  }
};
scope.TextDecoder ??= class TextDecoder {
  readonly encoding = "utf-8";
  decode(bytes: Uint8Array = new Uint8Array()): string {
    return decoded(bytes);
  }
};

/**
 * `Math.random` and `crypto.getRandomValues` draw from the release's own random bytes. What QuickJS has would be the same in
 * every release: its state is part of the built component.
 */
export function setRandom(bytes: RandomBytes, secretBytes: RandomBytes = bytes): void {
  Math.random = () => {
    const b = bytes(7);
    let value = b[0]! & 0x1f; // 53 bits
    for (let i = 1; i < 7; i++) value = value * 256 + b[i]!;
    return value / 2 ** 53;
  };
  scope.crypto = { getRandomValues: <T extends ArrayBufferView>(array: T): T => fillRandomly(array, secretBytes) };
}

function joined(words: unknown[]): string {
  return words.map((word) => (typeof word === "object" ? JSON.stringify(word) : String(word))).join(" ");
}

function* utf8(text: string): Generator<number> {
  for (const character of text) {
    let c = character.codePointAt(0)!;
    if (c >= 0xd800 && c < 0xe000) c = 0xfffd; // a lone surrogate
    if (c < 0x80) {
      yield c;
      continue;
    }
    const following = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    yield [0, 0xc0, 0xe0, 0xf0][following]! | (c >> (6 * following));
    for (let i = following - 1; i >= 0; i--) yield 0x80 | ((c >> (6 * i)) & 0x3f);
  }
}

/** Replaces what is no UTF-8 by U+FFFD. */
function decoded(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i++]!;
    const following = first < 0x80 ? 0 : first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : -1;
    let c = following === 0 ? first : first & (0x3f >> following);
    let good = following >= 0 && first < 0xf5;
    let left = following;
    for (; good && left > 0 && i < bytes.length && (bytes[i]! & 0xc0) === 0x80; left--) c = (c << 6) | (bytes[i++]! & 0x3f);
    good &&= left === 0 && c >= [0, 0x80, 0x800, 0x10000][following]! && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    text += good ? String.fromCodePoint(c) : "\ufffd";
  }
  return text;
}
