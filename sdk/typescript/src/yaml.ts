// Kubernetes YAML that people like to read and every YAML reader understands alike; the same bytes as the SDKs of the
// other languages write.
//
// Block style; `apiVersion`, `kind`, `name`, `namespace`, `metadata` first in each mapping, the rest sorted; texts of
// several lines as literal blocks. A string is plain only where YAML 1.1, YAML 1.2 and the resolvers of kubectl and Helm
// agree that it is one: `1_000`, `on`, `0777` or `12:30:45` come out quoted.

const LEADING_KEYS = ["apiVersion", "kind", "name", "namespace", "metadata"];
/** Words that some YAML reader takes for a boolean or null, in lower case. */
const RESERVED_WORDS = new Set(["null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"]);
/** What YAML 1.1 (section 5.1) counts as not printable, or as a line break. */
const NEEDS_ESCAPE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

type Node = null | boolean | number | string | Node[] | { [key: string]: Node };

/** Writes `value` as one YAML document that ends with a line break. What JSON leaves out (`undefined`) isn't written. */
export function toYaml(value: unknown): string {
  const text = toJson(value);
  if (text === undefined) throw new TypeError("there is nothing to write");
  const node = JSON.parse(text) as Node;
  if (isFilled(node)) return lines(node, 0);
  return inline(node, 0);
}

/** As `JSON.stringify`; but it throws, with the path, for what that writes as something else: NaN and infinity, Map and Set. */
export function toJson(value: unknown): string | undefined {
  const paths = new WeakMap<object, string>();
  return JSON.stringify(value, function (this: object, key: string, member: unknown) {
    const above = paths.get(this);
    // The first call is for the value itself, in an object that JSON.stringify made.
    const path = above === undefined ? "" : Array.isArray(this) ? `${above}[${key}]` : `${above}.${key}`;
    const place = () => path.replace(/^\./, "") || "the value";
    if (typeof member === "number" && !Number.isFinite(member))
      throw new TypeError(`${place()} is ${member}, which neither JSON nor YAML has`);
    if (member instanceof Map || member instanceof Set)
      throw new TypeError(`${place()} is of ${member instanceof Map ? "Map" : "Set"}, which YAML doesn't have`);
    if (typeof member === "object" && member !== null) paths.set(member, path);
    return member;
  });
}

/** `value` as JSON has it; `doing` is what the error says before the reason. */
export function toPlain(value: unknown, doing: string): unknown {
  try {
    const text = toJson(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch (error) {
    throw new Error(doing, { cause: error });
  }
}

/** `text` as JSON that is YAML, too. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(NEEDS_ESCAPE, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** Negative, 0 or positive, by code points: as UTF-8 is ordered. */
function compare(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let i = 0; i < left.length && i < right.length; i++) {
    const difference = left[i]!.codePointAt(0)! - right[i]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

function entries(map: { [key: string]: Node }): [string, Node][] {
  const rank = (key: string) => {
    const at = LEADING_KEYS.indexOf(key);
    return at < 0 ? LEADING_KEYS.length : at;
  };
  return Object.entries(map).sort(([a], [b]) => rank(a) - rank(b) || compare(a, b));
}

function isFilled(node: Node): node is Node[] | { [key: string]: Node } {
  return typeof node === "object" && node !== null && Object.keys(node).length > 0;
}

/** A list or mapping that isn't empty, from the current column on. */
function lines(node: Node[] | { [key: string]: Node }, indent: number): string {
  return Array.isArray(node) ? list(node, indent) : map(node, indent);
}

function map(node: { [key: string]: Node }, indent: number): string {
  return entries(node)
    .map(([key, value]) => {
      if (!isFilled(value)) return `${scalar(key)}: ${inline(value, indent)}`;
      const inner = Array.isArray(value) ? indent : indent + 2;
      return `${scalar(key)}:\n${" ".repeat(inner)}${lines(value, inner)}`;
    })
    .join(" ".repeat(indent));
}

function list(items: Node[], indent: number): string {
  return items
    .map((item) => "- " + (isFilled(item) ? lines(item, indent + 2) : inline(item, indent)))
    .join(" ".repeat(indent));
}

/** What starts on the current line, up to and with its line break. */
function inline(node: Node, indent: number): string {
  if (typeof node === "string") return isLiteral(node) ? literal(node, indent + 2) : scalar(node) + "\n";
  if (Array.isArray(node)) return "[]\n";
  if (typeof node === "object" && node !== null) return "{}\n";
  return String(node) + "\n";
}

function scalar(text: string): string {
  return isPlain(text) ? text : quoted(text);
}

/** A literal block (YAML 1.1, section 9.3.1); its chomping indicator keeps the line breaks at the end exact. */
function literal(text: string, indent: number): string {
  const body = text.replace(/\n+$/, "");
  const breaks = text.length - body.length;
  const indicator = ["|-", "|"][breaks] ?? "|+";
  const written = body.split("\n").map((line) => (line === "" ? "\n" : " ".repeat(indent) + line + "\n"));
  return `${indicator}\n${written.join("")}${"\n".repeat(Math.max(0, breaks - 1))}`;
}

/** Whether every YAML reader takes the unquoted text for this very string. */
function isPlain(text: string): boolean {
  // A Kubernetes quantity with a suffix that no YAML number has.
  if (/^[0-9]+(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|Ei)$/.test(text)) return true;
  return (
    /^[A-Za-z/][A-Za-z0-9 \-_./:@%+,=]*$/.test(text) &&
    !text.includes(": ") &&
    !/[ :]$/.test(text) &&
    !text.includes("\n") &&
    !RESERVED_WORDS.has(text.toLowerCase())
  );
}

/** Whether a literal block shows the text exactly; its first line decides the indentation, so it can't be blank. */
function isLiteral(text: string): boolean {
  if (!text.replace(/\n+$/, "").includes("\n") || /^\s/.test(text)) return false;
  NEEDS_ESCAPE.lastIndex = 0;
  return !/[\u0000-\u0008\u000b-\u001f]/.test(text) && !NEEDS_ESCAPE.test(text);
}
