// Runs an engine, or a package that is a program, once.

import type { EngineRun, Line, Plan } from "../protocol.ts";
import { encode, type Files, fromHex } from "./bytes.ts";
import { couldNot, Ending, Exit, Failure, mebibytes, tail } from "./failure.ts";
import { Host } from "./host.ts";
import { GuestMemory } from "./memory.ts";
import { outputOf, type Result, resultOf } from "./result.ts";
import type { Secrets } from "./secrets.ts";
import { START_EXPORT } from "./start_function.ts";
import { Wasi } from "./wasi.ts";

export interface Ran extends Result {
  readonly lines: readonly Line[];
  /** Random bytes that it asked for. */
  readonly drawn: number;
}

/** Throws a Failure. Doesn't return before the guest does: the page ends this worker at its time limit. */
export function run(plan: Plan, guest: WebAssembly.Module, { input, engine }: EngineRun, files: Files | null, secrets: Secrets): Ran {
  const { name, limits } = plan;
  const memory = new GuestMemory();
  const ending = new Ending();
  const wasi = new Wasi({
    name,
    clock: BigInt(plan.clock),
    seed: fromHex(plan.seed),
    outputBytes: limits.outputBytes,
    input: encode(input),
    files,
    memory,
    ending,
  });
  const onStream = (stream: string) => {
    wasi.stream = stream;
  };
  const host = new Host({ name, limits, memory, ending, secrets, onStream });
  const imports = { wasi_snapshot_preview1: wasi.functions(), mistletoe_v1: { ...host.functions() } };
  checkImports(name, guest, imports);

  // A guest whose memory can't grow ends soon after.
  const isFull = () => memory.size > limits.memoryBytes * 0.9;
  const outOfMemory = () => couldNot(name, { because: `it reached the limit of ${mebibytes(limits.memoryBytes)} of memory that a preview has` });

  let thrown: unknown = null;
  try {
    const {
      memory: itsMemory,
      [START_EXPORT]: first,
      _initialize: initialize,
      _start: start,
      mistletoe_generate: generate,
    } = new WebAssembly.Instance(guest, imports).exports;
    const entry = engine === null ? (start ?? generate) : generate;
    if (!(itsMemory instanceof WebAssembly.Memory) || typeof entry !== "function")
      throw couldNot(name, { because: engine === null ? "its module is no package: it exports no memory, or nothing to call" : "its engine is no engine" });
    memory.attach(itsMemory);
    if (typeof first === "function") first();
    // Engines were initialised when they were prepared.
    if (engine === null && entry === generate && typeof initialize === "function") initialize();
    wasi.entered = true;
    entry();
  } catch (failure) {
    thrown = failure;
  }
  const reason = ending.reason ?? thrown;
  const said = tail(wasi.files.errorText);
  if (reason instanceof Failure) throw reason;
  if (reason !== null && !(reason instanceof Exit)) {
    if (isFull()) throw outOfMemory();
    throw couldNot(name, { because: `the ${engine === null ? "program" : "engine"} stopped: ${(reason as Error).message}${said ? `\n${said}` : ""}` });
  }
  if (reason !== null && reason.code !== 0) {
    if (isFull()) throw outOfMemory();
    throw new Failure(`${name} could not be rendered: it ended with exit code ${reason.code}`, {
      because: said || "it printed no reason to stderr",
      frames: [`while rendering ${name}`],
    });
  }
  const result = engine === null ? outputOf(name, wasi.files.output) : resultOf(name, wasi.files.output, files);
  return { ...result, lines: host.lines, drawn: wasi.drawn };
}

function checkImports(name: string, guest: WebAssembly.Module, imports: Record<string, object>): void {
  for (const each of WebAssembly.Module.imports(guest)) {
    const module = Object.hasOwn(imports, each.module) ? imports[each.module]! : {};
    if (each.kind === "function" && Object.hasOwn(module, each.name)) continue;
    throw couldNot(name, { because: `it imports the ${each.kind} ${each.name} of ${each.module}, which a preview doesn't have` });
  }
}
