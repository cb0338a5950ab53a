#include "catalog/preview_script.h"

#include <fmt/core.h>

#include "crypto/digest.h"

namespace mist::catalog {
namespace {

constexpr std::string_view kPreviewScript = R"js("use strict";
// The button that renders a package in this browser: asks the catalog what to run, and runs it in a worker that is ended
// at its time limit, or by the person. What the package gives is shown as text.
(() => {
  const section = document.getElementById("rendered");
  if (!section) return;
  section.hidden = false;
  if (typeof WebAssembly !== "object" || typeof Worker !== "function" || typeof DecompressionStream !== "function") {
    section.textContent = "There is no preview of its objects: this browser has no WebAssembly.";
    return;
  }
  const form = document.querySelector("form[data-live]");
  const start = document.getElementById("rendered-start");
  const stop = document.getElementById("rendered-stop");
  const status = document.getElementById("rendered-status");
  const output = document.getElementById("rendered-output");
  const SHOWN = 1 << 20;
  let current = null;

  const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  // What would change how the rest is read.
  const visible = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
                                         (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const block = (text, label) => {
    const pre = element("pre", "", { tabindex: "0", role: "region", "aria-label": label, dir: "ltr" });
    pre.append(element("code", text));
    return pre;
  };

  const place = ({ file, line, column, text }) => {
    const lines = [`  at ${file}${line ? `:${line}` : ""}${column ? `:${column}` : ""}`];
    if (!text || !line) return lines;
    const gutter = " ".repeat(String(line).length);
    lines.push(`    ${gutter} |`, `    ${line} | ${text.replaceAll("\t", " ")}`);
    if (column) lines.push(`    ${gutter} | ${" ".repeat(column - 1)}^`);
    return lines;
  };
  // As mistctl shows it.
  const report = ({ message, where, because, frames, hint }) => {
    const labelled = (label, text) => (text ? [`  ${label}: ${String(text).trim().replaceAll("\n", "\n    ")}`] : []);
    return [`error: ${message}`, ...(where ? place(where) : []), ...labelled("because", because),
            ...(frames ?? []).map((frame) => `  ${frame}`), ...labelled("try", hint)].join("\n") + "\n";
  };

  const end = (words) => {
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
  const fail = (error) => {
    end(`Not rendered: ${visible(error.message)}.`);
    output.replaceChildren(block(visible(report(error)), "The error"));
  };

  const show = (plan, done) => {
    end(`Rendered, ${plural(done.objects, "object")}.`);
    const notes = [];
    if (done.secrets.length > 0)
      notes.push(`Where it says (secret NAME), your installation has a secret of its own: ${done.secrets.join(", ")}.`);
    if (done.drawn > 0) notes.push("The package drew random values: your installation has others.");
    for (const { level, text } of done.lines) notes.push(`${level === "warn" ? "Warning" : "The package says"}: ${text}`);
    const text = visible(done.text);
    if (text.length > SHOWN) notes.push(`Only the first ${plural(SHOWN, "character")} of ${text.length} are shown.`);
    output.replaceChildren(...notes.map((note) => element("p", visible(note))), block(text.slice(0, SHOWN), "The objects"),
                           element("p", "This command prints the same, except for what is random or secret:"), block(plan.command, "The command"));
  };

  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const asked = async (mine) => {
    const url = new URL(section.dataset.preview, document.baseURI);
    if (form) for (const [name, value] of new FormData(form)) if (value !== "") url.searchParams.append(name, value);
    for (;;) {
      const answer = await fetch(url, { signal: mine.asking.signal });
      const body = await answer.json();
      if (answer.status !== 202) return body;
      status.textContent = "The catalog prepares it…";
      await wait(500);
    }
  };

  const render = async () => {
    const mine = current = { asking: new AbortController(), worker: null, timer: 0 };
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
    if (plan.error) return fail(plan.error);
    const worker = mine.worker = new Worker(section.dataset.worker);
    worker.onerror = () => current === mine && fail({ message: "the browser didn't start the preview" });
    worker.onmessage = ({ data }) => {
      if (current !== mine) return;
      if (data.state === "loading") status.textContent = `Loading ${megabytes(plan.transfer)}, the first time…`;
      else if (data.state === "done") show(plan, data);
      else if (data.state === "failed") fail(data.error);
      else {
        status.textContent = "Rendering…";
        mine.timer = setTimeout(() => fail({
          message: `${plan.name} could not be rendered`, because: `it ran for ${plan.limits.seconds} s, the limit of a preview`,
          hint: "mistctl generate has other limits: mistctl help generate" }), plan.limits.seconds * 1000);
      }
    };
    worker.postMessage(plan);
  };

  start.addEventListener("click", render);
  stop.addEventListener("click", () => end("Stopped."));
  section.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && current) end("Stopped.");
  });
  form?.addEventListener("input", () => {
    if (!current && output.childElementCount > 0) status.textContent = "The inputs have changed since. Press Preview again.";
  });
})();
)js";

std::string path_of(std::string_view name, std::string_view text) {
  return fmt::format("/assets/{}-{}.js", name, crypto::sha256(text).hex().substr(0, 16));
}

}  // namespace

const std::string& preview_script() {
  static const std::string text(kPreviewScript);
  return text;
}

const std::string& preview_script_path() {
  static const std::string path = path_of("preview", preview_script());
  return path;
}

const std::string& preview_worker_path() {
  static const std::string path = path_of("preview-worker", preview_worker());
  return path;
}

const std::string& preview_worker_policy() {
  static const std::string policy =
      "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; "
      "frame-ancestors 'none'";
  return policy;
}

}  // namespace mist::catalog
