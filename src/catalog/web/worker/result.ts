// The outcome of a guest's run: the document that it printed, or why there is none. Pure.

import type { Place } from "../protocol.ts";
import { type Bytes, decode, decodeStrictly, encode, type Files } from "./bytes.ts";
import { couldNot, Failure } from "./failure.ts";
import { isObject, type JsonObject, objectAt } from "./json.ts";

export interface Result {
  /** By their paths. */
  readonly files: ReadonlyMap<string, string>;
  /** Of a script: what it left besides files. */
  readonly exports: JsonObject;
}

const PLAIN_OUTPUT = "stdout.yaml";
const LONGEST_PATH = 1024; // bytes
const LONGEST_EXCERPT = 2000; // characters

/** Of a program: a MistResult in JSON, or Kubernetes YAML as it is (src/abi/v1/output.cc). Throws a Failure. */
export function outputOf(name: string, output: Bytes): Result {
  let text;
  try {
    text = decodeStrictly(output);
  } catch {
    throw couldNot(name, { because: "its output is not UTF-8" });
  }
  if (text.includes("\0")) throw couldNot(name, { because: "its output has a NUL character" });
  if (isOwnJson(text)) return resultOf(name, output, null);
  if (text.includes("mistletoe.dev/") && /^kind:\s*["']?MistResult\b/m.test(text))
    throw couldNot(name, { because: "its result is written as YAML, and a preview reads JSON", hint: "mistctl generate reads both" });
  return { files: new Map(text.trim() === "" ? [] : [[PLAIN_OUTPUT, text]]), exports: {} };
}

/** `files` are those that the engine read. Throws a Failure. */
export function resultOf(name: string, output: Bytes, files: Files | null): Result {
  const data = dataOf(name, output);
  if (data["result"] !== "Ok")
    throw couldNot(name, { because: String(data["message"] ?? "").trim() || "the package gave no reason", where: placeOf(data["where"], files) });
  const missing = data["missing"];
  if (Array.isArray(missing) && missing.length > 0)
    throw new Failure(`${name} needs what is elsewhere: ${JSON.stringify(missing)}`, { hint: "copy it into the package, and name it by its path" });
  const made = new Map<string, string>();
  for (const [path, text] of Object.entries(objectAt(data, "files"))) {
    if (typeof text !== "string" || !isSafe(path)) throw couldNot(name, { because: `${JSON.stringify(path)} can't be a file of its result` });
    made.set(path, text);
  }
  return { files: made, exports: objectAt(data, "exports") };
}

// Whether it is one document of ours, and no object of Kubernetes: a MistOrder is one of them.
function isOwnJson(text: string): boolean {
  try {
    const document: unknown = JSON.parse(text);
    const kind = isObject(document) && String(document["apiVersion"]).startsWith("mistletoe.dev/") ? String(document["kind"]) : "";
    return kind.startsWith("Mist") && kind !== "MistOrder";
  } catch {
    return false;
  }
}

function dataOf(name: string, output: Bytes): JsonObject {
  let document: unknown;
  try {
    document = JSON.parse(decodeStrictly(output));
  } catch (failure) {
    throw couldNot(name, { because: `its result can't be read: ${(failure as Error).message}` });
  }
  const data = isObject(document) && document["kind"] === "MistResult" ? document["data"] : null;
  if (!isObject(data)) throw couldNot(name, { because: "its result has no data" });
  return data;
}

/** Whether it leads to a file below, and shows no control characters. */
export function isSafe(path: string): boolean {
  if (encode(path).length > LONGEST_PATH || /[\u0000-\u001f\u007f\\]/.test(path)) return false;
  return path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** With the text of its line, if that isn't too long; null where `where` names no file. */
export function placeOf(where: unknown, files: Files | null): Place | null {
  if (!isObject(where) || typeof where["file"] !== "string") return null;
  const file = where["file"];
  const line = count(where["line"]);
  const said = where["text"];
  let text = typeof said === "string" && said.length <= LONGEST_EXCERPT && !said.includes("\n") ? said : "";
  const content = files?.get(file);
  if (!text && line > 0 && content) text = decode(content).split("\n")[line - 1]?.replace(/\r$/, "") ?? "";
  return { file, line, column: count(where["column"]), text };
}

const MOST_COUNTED = 1 << 20; // a column further on would be a picture of spaces

const count = (value: unknown): number => (typeof value === "number" && Number.isInteger(value) && value > 0 && value < MOST_COUNTED ? value : 0);
