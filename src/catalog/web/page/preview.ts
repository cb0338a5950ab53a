// The button Preview, which renders a package in this browser: asks the catalog what to run, and runs it in a worker that is ended at its
// time limit, or by the person. What the package gives is shown as text.

import { type ErrorReport, type Message, MOST_SHOWN, type Plan, type Rendered } from "../protocol.ts";
import { addFields, isTooLong, saysTooLong } from "./live_form.ts";
import { megabytes, plural, report, visible } from "./report.ts";

const PAUSE = 500; // milliseconds between two questions to a catalog that prepares a version

interface Attempt {
  readonly asking: AbortController;
  worker: Worker | null;
  timer: number;
}

const place = document.getElementById("rendered");
if (place) {
  place.hidden = false;
  if (typeof WebAssembly === "object" && typeof Worker === "function" && typeof DecompressionStream === "function") offerPreview(place);
  else place.textContent = "There is no preview of its objects: this browser has no WebAssembly.";
}

function offerPreview(section: HTMLElement): void {
  const form = document.querySelector<HTMLFormElement>("form[data-live]");
  const start = elementOf("rendered-start");
  const stop = elementOf("rendered-stop");
  const status = elementOf("rendered-status");
  const output = elementOf("rendered-output");
  let current: Attempt | null = null;

  const end = (words: string) => {
    current?.worker?.terminate();
    current?.asking.abort();
    clearTimeout(current?.timer);
    current = null;
    const had = document.activeElement === stop;
    start.hidden = false;
    stop.hidden = true;
    if (had) start.focus();
    status.textContent = words;
  };
  const fail = (error: ErrorReport) => {
    end(`Not rendered: ${visible(error.message)}.`);
    output.replaceChildren(block(visible(report(error)), "The error"));
  };
  const show = (plan: Plan, done: Rendered) => {
    end(`Rendered, ${plural(done.objects, "object")}.`);
    const text = visible(done.text); // longer than it was
    output.replaceChildren(
      ...notesOf(done, Math.max(done.length, text.length)).map((note) => element("p", visible(note))),
      block(text.slice(0, MOST_SHOWN), "The objects"),
      ...(plan.command === null
        ? []
        : [element("p", "This command prints the same, except for what is random or secret:"), block(plan.command, "The command")]),
    );
  };

  const asked = async (mine: Attempt): Promise<Plan | { error: ErrorReport }> => {
    const url = new URL(section.dataset["preview"] ?? "", document.baseURI);
    if (form) addFields(url, form);
    if (isTooLong(url)) return { error: TOO_MUCH };
    for (;;) {
      const answer = await fetch(url, { signal: mine.asking.signal });
      if (saysTooLong(answer.status)) return { error: TOO_MUCH };
      const body: unknown = await answer.json();
      if (answer.status !== 202) return body as Plan | { error: ErrorReport };
      status.textContent = "The catalog prepares it…";
      await wait(PAUSE);
    }
  };

  const run = (mine: Attempt, plan: Plan) => {
    const worker = (mine.worker = new Worker(section.dataset["worker"] ?? ""));
    worker.addEventListener("error", () => {
      if (current === mine) fail({ message: "the browser didn't start the preview" });
    });
    worker.addEventListener("message", ({ data: message }: MessageEvent<Message>) => {
      if (current !== mine) return;
      switch (message.state) {
        case "loading":
          status.textContent = `Loading ${megabytes(plan.transfer)}, the first time…`;
          break;
        case "running":
          status.textContent = "Rendering…";
          mine.timer = setTimeout(() => fail(tooLong(plan)), plan.limits.seconds * 1000);
          break;
        case "done":
          show(plan, message);
          break;
        case "failed":
          fail(message.error);
          break;
      }
    });
    worker.postMessage(plan);
  };

  const render = async () => {
    const mine: Attempt = { asking: new AbortController(), worker: null, timer: 0 };
    current = mine;
    start.hidden = true;
    stop.hidden = false;
    stop.focus();
    status.textContent = "Loading…";
    output.replaceChildren();
    let plan;
    try {
      plan = await asked(mine);
    } catch {
      if (current === mine) fail({ message: "the catalog didn't answer", hint: "press Preview again" });
      return;
    }
    if (current !== mine) return;
    if ("error" in plan) fail(plan.error);
    else run(mine, plan);
  };

  start.addEventListener("click", render);
  stop.addEventListener("click", () => end("Stopped."));
  section.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && current) end("Stopped.");
  });
  form?.addEventListener("input", () => {
    if (!current && output.childElementCount > 0) status.textContent = "The inputs have changed since. Press Preview again.";
  });
}

function notesOf(done: Rendered, length: number): string[] {
  const notes = [];
  if (done.secrets.length > 0) notes.push(`Where it says (secret NAME), your installation has a secret of its own: ${done.secrets.join(", ")}${done.moreSecrets > 0 ? ` and ${done.moreSecrets} more` : ""}.`);
  if (done.drawn > 0) notes.push("The package drew random values: your installation has others.");
  for (const line of done.lines) notes.push(`${line.level === "warn" ? "Warning" : "The package says"}: ${line.text}`);
  if (length > MOST_SHOWN) notes.push(`Only the first ${plural(MOST_SHOWN, "character")} of ${length} are shown.`);
  return notes;
}

const TOO_MUCH: ErrorReport = {
  message: "the inputs are too long for a preview",
  hint: "write them into a file of values, and run mistctl generate",
};

function tooLong(plan: Plan): ErrorReport {
  return {
    message: `${plan.name} could not be rendered`,
    because: `it ran for ${plan.limits.seconds} s, the limit of a preview`,
    hint: "mistctl generate has other limits: mistctl help generate",
  };
}

const wait = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

/** One that src/catalog/pages.cc made. */
function elementOf(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

function element(name: string, text: string, attributes: Readonly<Record<string, string>> = {}): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function block(text: string, label: string): HTMLElement {
  const pre = element("pre", "", { tabindex: "0", role: "region", "aria-label": label, dir: "ltr" });
  pre.append(element("code", text));
  return pre;
}
