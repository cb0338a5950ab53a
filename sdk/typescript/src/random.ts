// `getRandomValues` of the Web Cryptography API.

/** `length` bytes from the release's seed. */
export type RandomBytes = (length: number) => Uint8Array;

const INTEGERS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];
/** At once, in bytes, as browsers and Node have it. */
const QUOTA = 65_536;

/** Fills every byte of `array`, which holds integers of whatever width, and gives it back. */
export function fillRandomly<T extends ArrayBufferView>(array: T, bytes: RandomBytes): T {
  if (!INTEGERS.some((kind) => array instanceof kind))
    throw named("TypeMismatchError", "crypto.getRandomValues fills typed arrays of integers, and nothing else");
  if (array.byteLength > QUOTA) throw named("QuotaExceededError", `crypto.getRandomValues fills at most ${QUOTA} bytes at once, not ${array.byteLength}`);
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(bytes(array.byteLength));
  return array;
}

/** QuickJS has no DOMException. */
function named(name: string, message: string): Error {
  const error = new Error(message);
  error.name = name;
  return error;
}
