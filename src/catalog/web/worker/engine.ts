// Runs an engine once.

import type { EngineRun, Line, Plan } from "../protocol.ts";
import { encode, type Files, fromHex } from "./bytes.ts";
import { couldNot, Ending, Exit, Failure, mebibytes, tail } from "./failure.ts";
import { Host } from "./host.ts";
import { GuestMemory } from "./memory.ts";
import { type Result, resultOf } from "./result.ts";
import type { Secrets } from "./secrets.ts";
import { Wasi } from "./wasi.ts";

export interface Ran extends Result {
  readonly lines: readonly Line[];
  /** Random bytes that it asked for. */
  readonly drawn: number;
}

/** Throws a Failure. Doesn't return before the engine does: the page ends this worker at its time limit. */
export function run(plan: Plan, engine: WebAssembly.Module, { input }: EngineRun, files: Files, secrets: Secrets): Ran {
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
  const instance = new WebAssembly.Instance(engine, { wasi_snapshot_preview1: wasi.functions(), mistletoe_v1: { ...host.functions() } });
  const { memory: itsMemory, mistletoe_generate: generate } = instance.exports;
  if (!(itsMemory instanceof WebAssembly.Memory) || typeof generate !== "function") throw couldNot(name, { because: "its engine is no engine" });
  memory.attach(itsMemory);
  wasi.entered = true;

  // A guest whose memory can't grow ends soon after.
  const isFull = () => memory.size > limits.memoryBytes * 0.9;
  const outOfMemory = () => couldNot(name, { because: `it reached the limit of ${mebibytes(limits.memoryBytes)} of memory that a preview has` });

  let thrown: unknown = null;
  try {
    generate();
  } catch (failure) {
    thrown = failure;
  }
  const reason = ending.reason ?? thrown;
  const said = tail(wasi.files.errorText);
  if (reason instanceof Failure) throw reason;
  if (reason !== null && !(reason instanceof Exit)) {
    if (isFull()) throw outOfMemory();
    throw couldNot(name, { because: `the engine stopped: ${(reason as Error).message}${said ? `\n${said}` : ""}` });
  }
  if (reason !== null && reason.code !== 0) {
    if (isFull()) throw outOfMemory();
    throw new Failure(`${name} could not be rendered: it ended with exit code ${reason.code}`, {
      because: said || "it printed no reason to stderr",
      frames: [`while rendering ${name}`],
    });
  }
  return { ...resultOf(name, wasi.files.output, files), lines: host.lines, drawn: wasi.drawn };
}
