// From the input document to the result document.

import { Output } from "./output.ts";
import { quoted, toPlain } from "./yaml.ts";

/** What a host tells a package about its surroundings. */
export interface Context {
  /** The release that is being rendered; `revision` and `isUpgrade` only for packages whose metadata says `needs.release`. */
  release?: { name: string; namespace: string; revision?: number; isUpgrade?: boolean };
  /** The API server's version, for example `v1.36.1`, and the group-versions that it serves. */
  capabilities?: { kubeVersion?: string; apiVersions?: string[] };
}

/** What a package exports as `generate`. An error that it throws becomes the error of the render. */
export type Generate<Input> = (input: Input, context: Context) => Output;

/** Renders a package as a host would, from the JSON of an input document; meant for the package's own tests. */
export function render(generate: Generate<any>, document: string): Output {
  let input: any;
  try {
    input = JSON.parse(document);
  } catch (error) {
    throw new Error("the input document can't be read", { cause: error });
  }
  if (input?.kind !== "MistInput")
    throw new Error(`the input document has kind \`${input?.kind}\`, expected \`MistInput\``);
  const { release, capabilities } = input;
  const output = generate(input.data, { release, capabilities });
  if (!(output instanceof Output)) throw new Error("generate gave no Output of the SDK");
  return output;
}

/** `render`, with what came of it as a `kind: MistResult` document. For the code that `mistletoe-build` writes. */
export function run(generate: Generate<any>, document: string): string {
  let data: object;
  try {
    const output = render(generate, document);
    data = {
      result: "Ok",
      message: output.message,
      files: Object.fromEntries(output.files),
      exports: exported(toPlain(output.exports, "can't write the exports")),
    };
  } catch (error) {
    data = { result: "Err", message: reason(error) };
  }
  return safe({ apiVersion: "mistletoe.dev/v1", kind: "MistResult", data });
}

/** A host reads a text as YAML, which its quotation is. */
const exported = (exports: unknown): unknown => (typeof exports === "string" ? quoted(exports) : exports);

/** The message of an error and of its causes: "can't make the Service: no port". */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = error.message || error.name;
  return error.cause === undefined ? own : `${own}: ${reason(error.cause)}`;
}

/** JSON without what YAML reads otherwise. */
function safe(document: object): string {
  return JSON.stringify(document).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, (c) => quoted(c).slice(1, -1));
}
