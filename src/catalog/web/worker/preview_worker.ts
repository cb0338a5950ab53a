// The worker in which a browser renders a package: runs its engine with its files in the sandbox that WebAssembly is. What a guest sees is
// what mistctl gives it. It gets one Plan, and answers with Messages.

import type { ErrorReport, Message, Plan } from "../protocol.ts";
import { bounded, Failure } from "./failure.ts";
import { fetchModule } from "./fetch_module.ts";
import { render } from "./render.ts";
import { withCallableStart } from "./start_function.ts";

const tell = (message: Message) => postMessage(message);

async function compiled(url: string, program: boolean, ofVersion: string): Promise<WebAssembly.Module> {
  const answer = await fetchModule(url, ofVersion);
  if (!answer.ok) throw new Failure("the catalog didn't give what the preview needs", { because: `${answer.status} for ${url}` });
  // Of engines, which are large, browsers keep what they compiled while it came.
  return program ? WebAssembly.compile(withCallableStart(new Uint8Array(await answer.arrayBuffer()))) : WebAssembly.compileStreaming(answer);
}

function reportOf(failure: unknown): ErrorReport {
  if (failure instanceof Failure) return failure.report;
  return { message: "the preview could not be rendered", because: failure instanceof Error ? failure.message : String(failure) };
}

addEventListener("message", async ({ data: plan }: MessageEvent<Plan>) => {
  try {
    tell({ state: "done", ...(await render(plan, tell, (url, program) => compiled(url, program, plan.ofVersion))) });
  } catch (failure) {
    tell({ state: "failed", error: bounded(reportOf(failure)) });
  }
});
