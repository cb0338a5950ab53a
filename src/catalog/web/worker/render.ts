// One render: the package's files through each of its engines, or the package by itself.

import { type Message, MOST_SHOWN, type Plan, type Rendered } from "../protocol.ts";
import { unpacked, untar } from "./archive.ts";
import type { Files } from "./bytes.ts";
import { run } from "./engine.ts";
import { clipped, Failure } from "./failure.ts";
import { LONGEST_LINE } from "./host.ts";
import { countObjects, printed } from "./objects.ts";
import { afterScript } from "./pre_install.ts";
import { masked, Secrets } from "./secrets.ts";

const MOST_NAMES = 50; // of secrets
const MOST_UNPACKED = (64 << 20) + 10000 * 4096; // bytes: of the files, and of their headers

/** `program`: a package that runs by itself, whose start function `run` calls. */
export type Compiled = (url: string, program: boolean) => Promise<WebAssembly.Module>;

/** Throws a Failure. */
export async function render(plan: Plan, tell: (message: Message) => void, compiled: Compiled): Promise<Rendered> {
  tell({ state: "loading" });
  // Each once: a package that runs by itself is named twice.
  const urls = [...new Set([plan.module.url, ...plan.runs.map(({ url }) => url)])];
  const isProgram = (url: string) => plan.runs.some((each) => each.engine === null && each.url === url);
  const modules = new Map((await Promise.all(urls.map((url) => compiled(url, isProgram(url))))).map((module, i) => [urls[i]!, module]));
  let files = plan.module.files ? await filesOf(plan.name, modules.get(plan.module.url)!) : null;
  tell({ state: "running" });
  const began = performance.now();
  const secrets = new Secrets(plan.keys);
  const lines = [];
  let drawn = 0;
  let made: ReadonlyMap<string, string> = new Map();
  for (const each of plan.runs) {
    const ran = run(plan, modules.get(each.url)!, each, files, secrets);
    lines.push(...ran.lines);
    drawn += ran.drawn;
    made = ran.files;
    if (each.script && files) files = afterScript(plan.name, files, ran);
  }
  const text = printed(made);
  const shown = masked(text, secrets.known);
  // The page's thread shows all that it gets: it gets no more than it can show at once.
  return {
    text: shown.slice(0, MOST_SHOWN),
    length: shown.length,
    objects: countObjects(text),
    lines: lines.map((line) => ({ level: line.level, text: clipped(masked(line.text, secrets.known), LONGEST_LINE) })),
    drawn,
    secrets: [...secrets.known.keys()].slice(0, MOST_NAMES),
    moreSecrets: Math.max(secrets.known.size - MOST_NAMES, 0),
    milliseconds: Math.round(performance.now() - began),
  };
}

async function filesOf(name: string, module: WebAssembly.Module): Promise<Files> {
  const [archive] = WebAssembly.Module.customSections(module, "mistletoe.files");
  if (!archive) throw new Failure(`the module of ${name} has no files`);
  return untar(await unpacked(archive, MOST_UNPACKED));
}
