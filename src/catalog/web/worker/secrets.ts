// What stands for secrets in a preview: of the form that the package asked for, so that it can use it. The result shows names in their place.

import type { Plan, Secret } from "../protocol.ts";
import { encode, toBase64, toHex } from "./bytes.ts";
import { Failure } from "./failure.ts";
import { type JsonObject, textsAt } from "./json.ts";
import { RandomStream } from "./random_stream.ts";
import { sha256 } from "./sha256.ts";

const LOWER = "abcdefghijklmnopqrstuvwxyz";
const ALPHANUMERIC = LOWER + LOWER.toUpperCase() + "0123456789";
const LONGEST = 1024; // as src/package/secrets.cc allows
const NAME = /^[a-zA-Z0-9_./][a-zA-Z0-9_./-]{0,127}$/; // as there
const MOST_TRIES = 10000; // for passwords that hold what is required, in one preview

const CLASSES: ReadonlyMap<string, RegExp> = new Map([
  ["lower", /[a-z]/],
  ["upper", /[A-Z]/],
  ["digit", /[0-9]/],
  ["symbol", /[^a-zA-Z0-9]/],
]);

export class Secrets {
  readonly #keys: Plan["keys"];
  readonly #known = new Map<string, Secret>();
  #tries = 0;

  constructor(keys: Plan["keys"]) {
    this.#keys = keys;
  }

  /** By name, in the order in which they were asked for. */
  get known(): ReadonlyMap<string, Secret> {
    return this.#known;
  }

  /** The answer to secret.get. Throws a Failure. */
  get(request: JsonObject): Secret {
    const { name } = request;
    if (typeof name !== "string" || !NAME.test(name))
      throw new Failure(`secret.get: "name" must be 1 to 128 letters, digits, '-', '_', '.' and '/', and not begin with '-'`);
    let secret = this.#known.get(name);
    if (!secret) {
      secret = this.#made(name, request);
      this.#known.set(name, secret);
    }
    return secret;
  }

  #made(name: string, request: JsonObject): Secret {
    const stream = new RandomStream(sha256(encode("a preview's secrets are no secrets")), name);
    switch (request["kind"]) {
      case "password":
        return { value: this.#password(stream, request) };
      case "alphanumeric":
        return { value: drawn(stream, ALPHANUMERIC, lengthOf(request, 32)) };
      case "hex": {
        const length = lengthOf(request, 64);
        return { value: toHex(stream.take(length)).slice(0, length) };
      }
      case "base64":
      case "bytes":
        return { value: toBase64(stream.take(lengthOf(request, 32))) };
      case "uuid":
        return { value: toHex(stream.take(16)).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-a$4-$5") };
      case "ed25519":
        return this.#keys.ed25519;
      case "ecdsa":
        return this.#keys.ecdsa;
      default:
        throw new Failure(`secret.get: this preview knows no kind "${String(request["kind"])}"`);
    }
  }

  #password(stream: RandomStream, request: JsonObject): string {
    const alphabet = request["alphabet"] ?? ALPHANUMERIC;
    if (typeof alphabet !== "string" || alphabet === "") throw new Failure('secret.get: "alphabet" must be a text');
    const required = textsAt(request, "require");
    const length = lengthOf(request, 24);
    for (;;) {
      const value = drawn(stream, alphabet, length);
      if (required.every((each) => CLASSES.get(each)?.test(value)) || this.#tries++ >= MOST_TRIES) return value;
    }
  }
}

function lengthOf(request: JsonObject, usual: number): number {
  const length = request["length"] ?? usual;
  if (typeof length !== "number" || !Number.isInteger(length) || length < 1 || length > LONGEST)
    throw new Failure(`secret.get: "length" must be a number from 1 to ${LONGEST}`);
  return length;
}

const drawn = (stream: RandomStream, from: string, count: number): string => [...stream.take(count)].map((byte) => from[byte % from.length]).join("");

/** `text` without what stands for secrets, as it is or in base64: with (secret NAME) in its place. */
export function masked(text: string, secrets: ReadonlyMap<string, Secret>): string {
  const names = new Map<string, string>();
  for (const [name, { value }] of secrets) for (const form of formsOf(value)) if (!names.has(form)) names.set(form, name);
  // A key may stand in a block of YAML, line by line.
  for (const [name, { value }] of secrets) for (const line of keyLinesOf(value)) names.set(line, name);
  let shown = text;
  // A function, because a replacement that is a text may have patterns.
  for (const [form, name] of [...names].sort(([a], [b]) => b.length - a.length)) shown = shown.replaceAll(form, () => `(secret ${name})`);
  return shown;
}

// Shorter ones would be found everywhere.
const formsOf = (value: string): string[] => (value.length > 3 ? [value, toBase64(encode(value))] : []);

const keyLinesOf = (value: string): string[] => (value.includes("\n") ? value.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----")) : []);
