// Write Kubernetes packages for Mistletoe in TypeScript: README.md.

export { call, type Called } from "./call.ts";
export { lookup, lookupAll } from "./lookup.ts";
export { Output } from "./output.ts";
export { render, type Context, type Generate } from "./run.ts";
export { toYaml } from "./yaml.ts";
export * as log from "./log.ts";
export * as secret from "./secret.ts";
