// What the tests use of Node's own modules, for tsc.

declare module "node:test" {
  export function test(name: string, body: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function notEqual(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function match(actual: string, expected: RegExp, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
  export function throws(body: () => unknown, expected?: object | RegExp, message?: string): void;
  export function rejects(body: Promise<unknown>, expected?: object | RegExp): Promise<void>;
}

declare module "*.cc" {
  const text: string;
  export default text;
}
