// A package's own code is evaluated once, when it is built, and every release begins with what that left behind. So it sees
// nothing of that moment: the time is 1970-01-01T00:00:00Z, and `Math.random` gives the same numbers in every build. Random
// bytes for secrets are refused, for every release would have the same. Only in components, before a package's own code.

import type { RandomBytes } from "./random.ts";

/** Ends with the call of `loaded`: then the clock and `bytes` are those of the release. */
export interface Loading {
  readonly bytes: RandomBytes;
  readonly secretBytes: RandomBytes;
  loaded(): void;
}

/** `Date` of `scope` stands still until then. */
export function beginLoading(scope: { Date: DateConstructor }, bytes: RandomBytes): Loading {
  let loading = true;
  let state = 0;
  const native = scope.Date;
  const now = native.now;
  native.now = () => (loading ? 0 : now.call(native));
  // Code that keeps this one has the clock of its release later.
  scope.Date = new Proxy(native, {
    apply: (target, self, given) => (loading ? new target(0).toString() : Reflect.apply(target, self, given)),
    construct: (target, given, created) =>
      Reflect.construct(target, loading && given.length === 0 ? [0] : given, created === scope.Date ? target : created),
  });
  return {
    bytes: (length) => (loading ? Uint8Array.from({ length }, () => (state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >> 16) : bytes(length)),
    secretBytes(length) {
      if (loading)
        throw new Error("crypto.getRandomValues: this code runs when the package is built, and every release would get the same bytes; call it in generate");
      return bytes(length);
    },
    loaded() {
      if (!loading) return;
      loading = false;
      scope.Date = native;
      native.now = now;
    },
  };
}
