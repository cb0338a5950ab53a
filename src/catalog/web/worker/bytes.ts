// Bytes and their texts. Pure.

export type Bytes = Uint8Array<ArrayBuffer>;

/** A package's files by their paths. */
export type Files = ReadonlyMap<string, Bytes>;

const encoder = new TextEncoder();

export const encode = (text: string): Bytes => encoder.encode(text);

/** Throws a TypeError where it isn't UTF-8. */
export const decodeStrictly = (bytes: Bytes): string => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** With a replacement character for what isn't UTF-8. */
export const decode = (bytes: Bytes): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

export function joined(parts: readonly Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Bytes that are added at the end: many small ones take no more memory than one large one. */
export class GrowingBytes {
  #room: Bytes = new Uint8Array(1024);
  #length = 0;

  add(piece: Bytes): void {
    const length = this.#length + piece.length;
    if (length > this.#room.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#room.length));
      larger.set(this.#room.subarray(0, this.#length));
      this.#room = larger;
    }
    this.#room.set(piece, this.#length);
    this.#length = length;
  }
  /** Those so far; later ones may change it. */
  get bytes(): Bytes {
    return this.#room.subarray(0, this.#length);
  }
}

export const toHex = (bytes: Bytes): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export const fromHex = (text: string): Bytes => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

export const toBase64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));

/** The order of texts by their bytes in UTF-8, as mistctl sorts. */
export function byBytes(a: string, b: string): number {
  const one = encode(a);
  const other = encode(b);
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; ++i) if (one[i] !== other[i]) return one[i]! - other[i]!;
  return one.length - other.length;
}
