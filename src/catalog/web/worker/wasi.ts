// WASI preview 1 as mistctl gives it (src/wasm/wasi.cc): clocks that nobody watches, random bytes of a seed, no environment. A change there
// needs one here.

import { type Bytes, encode, type Files } from "./bytes.ts";
import { Errno, orFault, unsigned as u } from "./errno.ts";
import { type Ending, Exit, Failure } from "./failure.ts";
import type { GuestMemory } from "./memory.ts";
import { RandomStream } from "./random_stream.ts";
import { WasiFiles } from "./wasi_files.ts";

export interface WasiWorld {
  /** Of the package, for errors. */
  readonly name: string;
  /** Nanoseconds since 1970. */
  readonly clock: bigint;
  readonly seed: Bytes;
  readonly outputBytes: number;
  readonly input: Bytes;
  /** At /package; null: there is no such directory. */
  readonly files: Files | null;
  readonly memory: GuestMemory;
  readonly ending: Ending;
}

/** Of what a module imports; the engine of the browser knows the parameters. */
export type WasiFunction = (...parameters: never[]) => number;

const ENDS = 2n ** 64n - 1n; // nanoseconds
const MICROSECOND = 1000n;
const REALTIME = 0;
const LAST_CLOCK = 3;
const ARGUMENT = encode("package\0");

// witx: subscription, event.
const SUBSCRIPTION = 48;
const EVENT = 32;
const CLOCK = 0;
const WRITE_READY = 2;

export class Wasi {
  readonly files: WasiFiles;
  /** Which random bytes random_get gives from now on: the host's random.stream chooses. */
  stream = "";
  /** Set when the guest generates: what it draws before doesn't count. */
  entered = false;
  /** Random bytes. */
  drawn = 0;

  readonly #world: WasiWorld;
  #monotonic = 0n;
  readonly #streams = new Map<string, RandomStream>();

  constructor(world: WasiWorld) {
    this.#world = world;
    this.files = new WasiFiles(world);
  }

  functions(): Record<string, WasiFunction> {
    const { clock, memory, ending } = this.#world;
    return {
      ...this.files.functions(),
      args_sizes_get: (count: number, size: number) => orFault(memory.put32(u(count), 1) && memory.put32(u(size), ARGUMENT.length)),
      args_get: (pointers: number, buffer: number) => {
        const to = memory.piece(u(buffer), ARGUMENT.length);
        if (!to) return Errno.FAULT;
        to.set(ARGUMENT);
        return orFault(memory.put32(u(pointers), u(buffer)));
      },
      environ_sizes_get: (count: number, size: number) => orFault(memory.put32(u(count), 0) && memory.put32(u(size), 0)),
      environ_get: () => Errno.SUCCESS,
      clock_res_get: (id: number, at: number) => (u(id) > LAST_CLOCK ? Errno.INVAL : orFault(memory.put64(u(at), MICROSECOND))),
      clock_time_get: (id: number, _precision: bigint, at: number) => {
        if (u(id) > LAST_CLOCK) return Errno.INVAL;
        return orFault(memory.put64(u(at), u(id) === REALTIME ? clock : this.#readMonotonicClock()));
      },
      random_get: (at: number, length: number) => {
        const to = memory.piece(u(at), u(length));
        if (!to) return Errno.FAULT;
        this.#random().fill(to);
        if (this.entered) this.drawn += to.length;
        return Errno.SUCCESS;
      },
      sched_yield: () => Errno.SUCCESS,
      proc_raise: () => Errno.NOTSUP,
      proc_exit: (code: number) => ending.end(new Exit(u(code))),
      poll_oneoff: (from: number, to: number, count: number, at: number) => this.#poll(u(from), u(to), u(count), u(at)),
    };
  }

  // A clock that stood still would be an endless loop for a guest that waits by reading it.
  #readMonotonicClock(): bigint {
    const now = this.#monotonic;
    this.#monotonic = now + MICROSECOND > ENDS ? ENDS : now + MICROSECOND;
    return now;
  }

  #random(): RandomStream {
    let stream = this.#streams.get(this.stream);
    if (!stream) {
      stream = new RandomStream(this.#world.seed, this.stream === "" ? "wasi" : `wasi/${this.stream}`);
      this.#streams.set(this.stream, stream);
    }
    return stream;
  }

  // Nobody waits: the clock is moved. Files are always ready.
  #poll(from: number, to: number, count: number, at: number): number {
    const { memory, ending, name } = this.#world;
    if (count === 0) return Errno.INVAL;
    if (!memory.has(from, count * SUBSCRIPTION) || !memory.has(to, count * EVENT) || !memory.has(at, 4)) return Errno.FAULT;

    let shortest = ENDS;
    for (let i = 0; i < count; ++i) {
      const subscription = from + i * SUBSCRIPTION;
      const tag = memory.u8(subscription + 8);
      if (tag > WRITE_READY) return Errno.INVAL;
      const wait = tag === CLOCK ? this.#due(subscription) : 0n;
      if (wait < shortest) shortest = wait;
    }

    let events = 0;
    for (let i = 0; i < count; ++i) {
      const subscription = from + i * SUBSCRIPTION;
      const tag = memory.u8(subscription + 8);
      if (tag === CLOCK && this.#due(subscription) > shortest) continue;
      const userdata = memory.u64(subscription);
      const isOpen = tag === CLOCK || this.files.has(memory.u32(subscription + 16));
      const event = memory.piece(to + events * EVENT, EVENT)!.fill(0);
      const fields = new DataView(event.buffer, event.byteOffset, EVENT);
      fields.setBigUint64(0, userdata, true);
      fields.setUint16(8, isOpen ? Errno.SUCCESS : Errno.BADF, true);
      fields.setUint8(10, tag);
      ++events;
    }
    this.#monotonic += shortest;
    if (this.#monotonic >= ENDS) ending.end(new Failure(`${name} would sleep for ever`));
    return orFault(memory.put32(at, events));
  }

  // Nanoseconds from now until a subscription to a clock fires.
  #due(subscription: number): bigint {
    const { memory, clock } = this.#world;
    const timeout = memory.u64(subscription + 24);
    const isAbsolute = (memory.u16(subscription + 40) & 1) !== 0;
    if (!isAbsolute) return timeout;
    const now = memory.u32(subscription + 16) === REALTIME ? clock : this.#monotonic;
    return timeout > now ? timeout - now : 0n;
  }
}
