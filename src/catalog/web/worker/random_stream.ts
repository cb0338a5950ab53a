// The random bytes of mistctl (src/crypto/random_stream.h, version 1): a function of a seed and a name.

import { type Bytes, encode, joined } from "./bytes.ts";
import { hmac } from "./sha256.ts";

export class RandomStream {
  readonly #key: Bytes;
  #next = 0n;
  #block: Bytes = new Uint8Array(0);

  constructor(seed: Bytes, name: string) {
    const secret = hmac(new Uint8Array(32), seed);
    this.#key = hmac(secret, joined([encode(`mistletoe/random-stream/v1/${name}`), Uint8Array.of(1)]));
  }

  fill(out: Bytes): void {
    for (let at = 0; at < out.length; ) {
      if (this.#block.length === 0) this.#block = this.#nextBlock();
      const part = this.#block.subarray(0, out.length - at);
      out.set(part, at);
      this.#block = this.#block.subarray(part.length);
      at += part.length;
    }
  }

  take(count: number): Bytes {
    const bytes = new Uint8Array(count);
    this.fill(bytes);
    return bytes;
  }

  #nextBlock(): Bytes {
    const counter = new Uint8Array(8);
    new DataView(counter.buffer).setBigUint64(0, this.#next++, true);
    return hmac(this.#key, counter);
  }
}
