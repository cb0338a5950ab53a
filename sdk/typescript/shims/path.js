// Node's `path`, of POSIX, as far as it is about texts.

export const sep = "/";
export const isAbsolute = (path) => path.startsWith("/");

export function normalize(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".." || !isAbsolute(path)) parts.push(part);
  }
  return (isAbsolute(path) ? "/" : "") + parts.join("/") || ".";
}

export const join = (...paths) => normalize(paths.filter((path) => path !== "").join("/"));

export function resolve(...paths) {
  let whole = "";
  for (const path of paths) whole = isAbsolute(path) ? path : `${whole}/${path}`;
  return normalize(isAbsolute(whole) ? whole : `/${whole}`);
}

export function dirname(path) {
  const at = path.replace(/\/+$/, "").lastIndexOf("/");
  return at < 0 ? "." : path.slice(0, at) || "/";
}

export function basename(path, suffix = "") {
  const name = path.replace(/\/+$/, "").split("/").at(-1);
  return suffix !== "" && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
}

export function extname(path) {
  const name = basename(path);
  const at = name.lastIndexOf(".");
  return at > 0 ? name.slice(at) : "";
}

export default { sep, isAbsolute, normalize, join, resolve, dirname, basename, extname };
