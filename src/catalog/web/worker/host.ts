// The requests of a guest to its host (docs/formats/abi.md), as far as a preview answers them (src/package/host.cc). A change there needs one
// here.

import type { Limits, Line } from "../protocol.ts";
import { type Bytes, decodeStrictly, encode } from "./bytes.ts";
import { unsigned } from "./errno.ts";
import { type Ending, Failure } from "./failure.ts";
import { isObject } from "./json.ts";
import type { GuestMemory } from "./memory.ts";
import type { Secrets } from "./secrets.ts";

const LONGEST_REQUEST = 1 << 20; // bytes
const MOST_REQUEST_BYTES = 16 << 20; // of all of them
const MOST_LINES = 200;
export const LONGEST_LINE = 4096; // characters
const LONGEST_LEVEL = 20; // characters
const LONGEST_STREAM = 1024; // characters

export interface HostWorld {
  /** Of the package, for errors. */
  readonly name: string;
  readonly limits: Pick<Limits, "requests">;
  readonly memory: GuestMemory;
  readonly ending: Ending;
  readonly secrets: Secrets;
  /** The guest chose the stream of its random bytes. */
  readonly onStream: (name: string) => void;
}

export class Host {
  /** What the guest logged. */
  readonly lines: Line[] = [];

  readonly #world: HostWorld;
  #answer: Bytes | null = null;
  #requests = 0;
  #requestBytes = 0;

  constructor(world: HostWorld) {
    this.#world = world;
  }

  functions(): { request: (at: number, length: number) => number; response: (at: number) => void } {
    return {
      request: (at, length) => this.#request(unsigned(at), unsigned(length)),
      response: (at) => this.#response(unsigned(at)),
    };
  }

  // The length of the answer, which the guest then makes room for.
  #request(at: number, length: number): number {
    const { name, limits, memory, ending } = this.#world;
    const piece = memory.piece(at, length);
    if (!piece) return ending.end(new Failure(`${name} asked from outside of its memory`));
    this.#requestBytes += length;
    if (length > LONGEST_REQUEST || this.#requestBytes > MOST_REQUEST_BYTES || ++this.#requests > limits.requests)
      return ending.end(new Failure(`${name} asks its host too often, or for too much`));
    this.#answer = encode(JSON.stringify(this.#answerTo(piece)));
    return this.#answer.length;
  }

  #response(at: number): void {
    const { name, memory, ending } = this.#world;
    const to = this.#answer && memory.piece(at, this.#answer.length);
    if (!this.#answer || !to) return ending.end(new Failure(`${name} wants an answer that it can't have`));
    to.set(this.#answer);
  }

  #answerTo(request: Bytes): object {
    try {
      return { ok: this.#answered(JSON.parse(decodeStrictly(request))) };
    } catch (failure) {
      // A SyntaxError: it is no JSON; a TypeError: it isn't UTF-8.
      if (failure instanceof Failure || failure instanceof SyntaxError || failure instanceof TypeError)
        return { error: { kind: "Invalid", message: failure.message, hint: failure instanceof Failure ? (failure.report.hint ?? null) : null } };
      throw failure;
    }
  }

  // Throws a Failure, which the guest may handle.
  #answered(request: unknown): unknown {
    if (!isObject(request)) throw new Failure("a request is an object");
    switch (request["op"]) {
      case "random.stream": {
        const { name } = request;
        if (typeof name !== "string" || name.length > LONGEST_STREAM) throw new Failure('random.stream: it takes "name", a text');
        this.#world.onStream(name);
        return {};
      }
      case "log":
        if (this.lines.length < MOST_LINES && request["level"] !== "debug")
          this.lines.push({ level: String(request["level"]).slice(0, LONGEST_LEVEL), text: String(request["message"]).slice(0, LONGEST_LINE) });
        return {};
      case "secret.hide": // what its only reader gave
        return {};
      case "lookup":
        return request["name"] ? null : { items: [] };
      case "secret.get":
        return this.#world.secrets.get(request);
      case "package.call":
        throw new Failure("package.call: packages can't be called here");
      default:
        throw new Failure(`this preview knows no operation "${String(request["op"])}"`);
    }
  }
}
