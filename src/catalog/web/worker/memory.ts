// The memory of a guest, whose addresses and lengths can't be trusted. Until it is attached, it has no bytes.

import type { Bytes } from "./bytes.ts";

export interface Buffered {
  readonly buffer: ArrayBuffer;
}

export class GuestMemory {
  #of: Buffered = { buffer: new ArrayBuffer(0) };

  /** `memory.buffer` becomes another one when the memory grows. */
  attach(memory: Buffered): void {
    this.#of = memory;
  }

  get size(): number {
    return this.#of.buffer.byteLength;
  }
  has(at: number, length: number): boolean {
    return at + length <= this.size;
  }
  /** Not a copy; null where it isn't within the memory. */
  piece(at: number, length: number): Bytes | null {
    return this.has(at, length) ? new Uint8Array(this.#of.buffer, at, length) : null;
  }

  // For addresses that `has` was asked about; otherwise they throw a RangeError.
  u8(at: number): number {
    return this.#view.getUint8(at);
  }
  u16(at: number): number {
    return this.#view.getUint16(at, true);
  }
  u32(at: number): number {
    return this.#view.getUint32(at, true);
  }
  u64(at: number): bigint {
    return this.#view.getBigUint64(at, true);
  }

  // Whether it is within the memory.
  put32(at: number, value: number): boolean {
    if (!this.has(at, 4)) return false;
    this.#view.setUint32(at, value, true);
    return true;
  }
  put64(at: number, value: bigint): boolean {
    if (!this.has(at, 8)) return false;
    this.#view.setBigUint64(at, value, true);
    return true;
  }

  get #view(): DataView {
    return new DataView(this.#of.buffer);
  }
}
