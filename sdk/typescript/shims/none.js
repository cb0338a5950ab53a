// Modules of Node that libraries import and a package can't use: each function that is called says so.

const absent = (name) => () => {
  throw new Error(`a package has no files, processes and network: ${name} isn't there`);
};

export const readFileSync = absent("readFileSync");
export const writeFileSync = absent("writeFileSync");
export const existsSync = () => false;
export const mkdirSync = absent("mkdirSync");
export const mkdtempSync = absent("mkdtempSync");
export const statSync = absent("statSync");
export const lstatSync = absent("lstatSync");
export const readdirSync = absent("readdirSync");
export const rmSync = absent("rmSync");
export const tmpdir = () => "/tmp";
export const platform = () => "wasi";
export const execFileSync = absent("execFileSync");
export const execSync = absent("execSync");
export const spawnSync = absent("spawnSync");
export const fileURLToPath = (url) => String(url).replace(/^file:\/\//, "");
export const inspect = (value) => (typeof value === "string" ? value : JSON.stringify(value));
export const format = (...words) => words.map(inspect).join(" ");
export const promisify = (call) => call;
export const inherits = (child, parent) => Object.setPrototypeOf(child.prototype, parent.prototype);
export default {
  readFileSync, writeFileSync, existsSync, mkdirSync, mkdtempSync, statSync, lstatSync, readdirSync, rmSync, tmpdir, platform,
  execFileSync, execSync, spawnSync, fileURLToPath, inspect, format, promisify, inherits,
};
