// The package as its scripts/pre-install.py left it (src/package/pre_install.cc). Pure.

import { encode, type Files } from "./bytes.ts";
import { Failure } from "./failure.ts";
import { objectAt, textsAt } from "./json.ts";
import { placeOf, type Result } from "./result.ts";

const SCRIPT = "scripts/pre-install.py";
const isManifest = (path: string) => path.startsWith("manifests/");

/** Throws a Failure where the script asks a question, or needs a machine. */
export function afterScript(name: string, files: Files, { files: written, exports }: Result): Files {
  if (exports["question"]) {
    const question = objectAt(exports, "question");
    throw new Failure(`${name} asks for ${String(question["name"])}, and nobody answered`, {
      because: String(question["prompt"]),
      hint: "answer it in a file of values, and run mistctl generate",
    });
  }
  if (exports["needsHost"])
    throw new Failure(`${SCRIPT} of ${name} needs the Python of a machine`, {
      where: placeOf(exports["where"], files),
      because: `it uses ${String(exports["needsHost"])}, and in the sandbox there are no processes and no network`,
    });
  const after = new Map([...files].filter(([path]) => path !== SCRIPT && !path.startsWith("templates/")));
  for (const path of textsAt(exports, "removed")) if (isManifest(path)) after.delete(path);
  for (const [path, text] of written) if (isManifest(path)) after.set(path, encode(text));
  return after;
}
