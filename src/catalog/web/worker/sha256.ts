// SHA-256 and HMAC for random bytes: crypto.subtle answers later, and a guest can't wait. Pure.

import { type Bytes, joined } from "./bytes.ts";

// FIPS 180-4: the first 32 bits of the fractional parts of roots of the first primes.
const ROUND = new Uint32Array(64); // cube roots
const START = new Uint32Array(8); // square roots
{
  const fraction = (number: number) => Math.floor((number - Math.floor(number)) * 2 ** 32);
  let count = 0;
  for (let prime = 2; count < 64; ++prime) {
    let composite = false;
    for (let i = 2; i * i <= prime; ++i) composite ||= prime % i === 0;
    if (composite) continue;
    if (count < 8) START[count] = fraction(Math.sqrt(prime));
    ROUND[count++] = fraction(Math.cbrt(prime));
  }
}

const BLOCK = 64; // bytes

const rotate = (x: number, n: number) => (x >>> n) | (x << (32 - n));

export function sha256(bytes: Bytes): Bytes {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const hash = START.slice();
  const words = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += BLOCK) {
    for (let i = 0; i < 16; ++i) words[i] = view.getUint32(at + 4 * i);
    addBlock(hash, words);
  }
  const digest = new Uint8Array(32);
  const fields = new DataView(digest.buffer);
  hash.forEach((word, i) => fields.setUint32(4 * i, word));
  return digest;
}

/** `words`: the block in its first 16; the others are written. */
function addBlock(hash: Uint32Array, words: Uint32Array): void {
  for (let i = 16; i < 64; ++i) {
    const x = words[i - 15]!;
    const y = words[i - 2]!;
    words[i] = words[i - 16]! + (rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3)) + words[i - 7]! + (rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10));
  }
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number];
  for (let i = 0; i < 64; ++i) {
    const one = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i]! + words[i]!) | 0;
    const two = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    hash[i]! += word;
  });
}

export function hmac(key: Bytes, text: Bytes): Bytes {
  const padded = new Uint8Array(BLOCK);
  padded.set(key.length > BLOCK ? sha256(key) : key);
  const inner = sha256(joined([padded.map((x) => x ^ 0x36), text]));
  return sha256(joined([padded.map((x) => x ^ 0x5c), inner]));
}
