// The world of a package, around a package's own `generate`; for the code that `mistletoe-build` writes.

import host from "mistletoe:package/host@1.0.0";
import random from "wasi:random/random@0.2.6";

import { setHost } from "./host.ts";
import { beginLoading } from "./loading.ts";
import { run as render, type Generate } from "./run.ts";
import { setRandom } from "./runtime.ts";

setHost(host.request);
const loading = beginLoading(globalThis, (length) => random.getRandomBytes(length));
setRandom(loading.bytes, loading.secretBytes);

export function run(generate: Generate<any>, input: string): string {
  loading.loaded();
  return render(generate, input);
}

export { type Generate };
