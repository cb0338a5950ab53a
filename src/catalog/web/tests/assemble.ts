// Small engines, so that the worker can be tested without one of the real ones: modules that import what engines import and do one thing.

import { type Bytes, encode, joined } from "../worker/bytes.ts";
import { withCallableStart } from "../worker/start_function.ts";

const leb = (value: number): number[] => (value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)]);
const signedLeb = (value: number): number[] => (value < 64 ? [value] : [(value & 127) | 128, ...signedLeb(value >>> 7)]);
const text = (words: string): number[] => [...leb(encode(words).length), ...encode(words)];
const vector = (entries: number[][]): number[] => [...leb(entries.length), ...entries.flat()];
const section = (id: number, content: number[]): number[] => [id, ...leb(content.length), ...content];

const I32 = 0x7f;
const DROP = [0x1a];
const constant = (value: number) => [0x41, ...signedLeb(value)];
const call = (index: number) => [0x10, index];
const store = (at: number, value: number) => [...constant(at), ...constant(value), 0x36, 2, 0];

// Where a module has what.
const VECTOR = 0;
const WRITTEN = 8;
const DRAWN = 32;
const TEXT = 64;

// Instructions of mistletoe_generate.
export const write = (descriptor: number, from: number, length: number): number[] => [
  ...store(VECTOR, from),
  ...store(VECTOR + 4, length),
  ...[descriptor, VECTOR, 1, WRITTEN].flatMap(constant),
  ...call(0),
  ...DROP,
];
export const exit = (code: number): number[] => [...constant(code), ...call(1)];
export const draw = (length: number): number[] => [...constant(DRAWN), ...constant(length), ...call(2), ...DROP];
export const request = (from: number, length: number): number[] => [...constant(from), ...constant(length), ...call(3), ...DROP];
export const grow = (pages: number): number[] => [...constant(pages), 0x40, 0, ...DROP];
export const TRAP = [0x00];
/** `code`, of which each exception is caught and forgotten. */
export const caught = (code: number[]): number[] => [0x06, 0x40, ...code, 0x19, 0x0b];

type Code = (...places: (readonly [number, number])[]) => number[];

/** An engine whose memory has `said`, one after the other, and whose code gets the place and length of each. */
export const engine = (said: readonly string[], code: Code): WebAssembly.Module => program(said, { mistletoe_generate: code });

/** The same with other exports than an engine has; `start` is a start function, `strange` imported in the place of a request's. */
export const program = (...written: Parameters<typeof programBytes>): WebAssembly.Module => new WebAssembly.Module(withCallableStart(programBytes(...written)));

/** As a compiler writes it. */
export function programBytes(said: readonly string[], functions: Readonly<Record<string, Code>>, { start = "", strange = "" } = {}): Bytes {
  const bytes = said.map(encode);
  let at = TEXT;
  const places = bytes.map(({ length }) => {
    const place = [at, length] as const;
    at += length;
    return place;
  });
  const bodies = Object.values(functions).map((code) => [0, ...code(...places), 0x0b]);
  const types = [[0x60, 0, 0], [0x60, 4, I32, I32, I32, I32, 1, I32], [0x60, 1, I32, 0], [0x60, 2, I32, I32, 1, I32]];
  const imports = [
    [...text("wasi_snapshot_preview1"), ...text("fd_write"), 0, 1],
    [...text("wasi_snapshot_preview1"), ...text("proc_exit"), 0, 2],
    [...text("wasi_snapshot_preview1"), ...text("random_get"), 0, 3],
    [...text("mistletoe_v1"), ...text(strange || "request"), 0, 3],
  ];
  const numbered = Object.keys(functions).map((name, i) => [name, imports.length + i] as const);
  const started = numbered.find(([name]) => name === start);
  return bytesOf(
    section(1, vector(types)),
    section(2, vector(imports)),
    section(3, vector(bodies.map(() => [0]))),
    section(5, vector([[1, 2, 100]])),
    section(7, vector([[...text("memory"), 2, 0], ...numbered.map(([name, index]) => [...text(name), 0, ...leb(index)])])),
    ...(started ? [section(8, leb(started[1]))] : []),
    section(10, vector(bodies.map((body) => [...leb(body.length), ...body]))),
    section(11, vector([[0, ...constant(TEXT), 0x0b, ...leb(at - TEXT), ...joined(bytes)]])),
  );
}

/** A module that holds `archive`, as `mistctl package build --thin` makes it. */
export const packageModule = (archive: Bytes): WebAssembly.Module => new WebAssembly.Module(bytesOf(section(0, [...text("mistletoe.files"), ...archive])));

const bytesOf = (...sections: number[][]): Bytes => Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flat()]);
