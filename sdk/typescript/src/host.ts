// Requests to the host (docs/formats/abi.md). In a component the build connects the host's own function; under Node, where
// a package's tests run, its place is taken by one that answers with values which depend on the secret's name alone.

import { toJson } from "./yaml.ts";

type Exchange = (request: string) => string;

let exchange: Exchange = standIn;

/** For the code that `mistletoe-build` writes, and for tests that need another host. */
export function setHost(host: Exchange): void {
  exchange = host;
}

/** Asks the host; its answer, or an error with its words why not. */
export function ask(request: { op: string; [member: string]: unknown }): any {
  const text = exchange(toJson(request)!);
  let answer: any;
  try {
    answer = JSON.parse(text);
  } catch (error) {
    throw new Error(`the host's answer can't be read: ${(error as Error).message}`);
  }
  if (answer?.ok !== undefined) return answer.ok;
  const message = answer?.error?.message ?? "the host gave no answer";
  throw new Error(answer?.error?.hint ? `${message} (${answer.error.hint})` : message);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

function standIn(text: string): string {
  const request = JSON.parse(text);
  const refuse = (message: string) => JSON.stringify({ error: { kind: "Invalid", message } });
  if (request.op === "log") return JSON.stringify({ ok: {} });
  if (request.op === "lookup") return JSON.stringify({ ok: request.name === "" ? { items: [] } : null });
  if (request.op !== "secret.get") return refuse("there is no host here that could answer that");
  const characters = (alphabet: string, length: number) => {
    let state = 0x811c9dc5;
    for (const c of request.name as string) state = Math.imul(state ^ c.codePointAt(0)!, 0x01000193); // FNV-1a
    let result = "";
    for (let i = 0; i < length; i++) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5; // xorshift32
      result += alphabet[(state >>> 0) % alphabet.length];
    }
    return result;
  };
  const ok = (value: string) => JSON.stringify({ ok: { value } });
  const hexadecimal = "0123456789abcdef";
  switch (request.kind) {
    case "password":
      return ok(characters(request.alphabet ?? LETTERS, request.length ?? 24));
    case "alphanumeric":
      return ok(characters(LETTERS, request.length ?? 32));
    case "hex":
      return ok(characters(hexadecimal, request.length ?? 64));
    case "base64": {
      const length = request.length ?? 32;
      const digits = characters("ABCDEFGH", Math.ceil(length / 3) * 4);
      const padding = (3 - (length % 3)) % 3;
      return ok(padding === 0 ? digits : digits.slice(0, -padding - 1) + "A" + "=".repeat(padding));
    }
    case "uuid": {
      const d = characters(hexadecimal, 32);
      return ok(`${d.slice(0, 8)}-${d.slice(8, 12)}-4${d.slice(13, 16)}-8${d.slice(17, 20)}-${d.slice(20)}`);
    }
    default:
      return refuse(`there is no host here that could give a secret of kind ${request.kind}`);
  }
}
