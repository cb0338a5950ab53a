// The world of a package, around a package's own `generate`; for the code that `mistletoe-build` writes.

import host from "mistletoe:package/host@1.0.0";
import random from "wasi:random/random@0.2.6";

import { setHost } from "./host.ts";
import { run, type Generate } from "./run.ts";
import { setRandom } from "./runtime.ts";

setHost(host.request);
setRandom((length) => random.getRandomBytes(length));

export { run, type Generate };
