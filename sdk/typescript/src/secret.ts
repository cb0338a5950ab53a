// Secrets that stay: the host derives each from the release's seed and from names. The same release gets the same secret on
// every install, upgrade and dry run; docs/secrets.md. A name is up to 128 letters, digits, `-`, `_`, `.` and `/`; each
// form of a secret needs a name of its own.

import { ask } from "./host.ts";

/** What a password may have to hold. */
export type Class = "lower" | "upper" | "digit" | "symbol";

export interface PasswordOptions {
  /** How many characters, 4 to 1024; 24 if not given. */
  length?: number;
  /** Which characters: at least two from `!` to `~`, each once; letters and digits if not given. */
  alphabet?: string;
  /** At least one character of each class; the alphabet must have them. */
  require?: Class[];
}

/** A key pair, as PEM (PKCS #8 and SubjectPublicKeyInfo). */
export interface KeyPair {
  privateKey: string;
  publicKey: string;
}

export function password(name: string, options: PasswordOptions = {}): string {
  return get("password", name, { ...options }).value;
}

/** `length` letters and digits (4 to 1024). */
export function alphanumeric(name: string, length: number): string {
  return get("alphanumeric", name, { length }).value;
}

/** `length` lower-case hexadecimal digits (4 to 1024). */
export function hex(name: string, length: number): string {
  return get("hex", name, { length }).value;
}

/** `length` random bytes (4 to 1024), as text in base64. */
export function base64(name: string, length: number): string {
  return get("base64", name, { length }).value;
}

/** A random UUID (version 4). */
export function uuid(name: string): string {
  return get("uuid", name, {}).value;
}

/** An Ed25519 key pair; not under Node. */
export function ed25519(name: string): KeyPair {
  return pair("ed25519", name);
}

/** An ECDSA key pair on P-256; not under Node. */
export function ecdsa(name: string): KeyPair {
  return pair("ecdsa", name);
}

function pair(kind: string, name: string): KeyPair {
  const answer = get(kind, name, {});
  if (typeof answer.publicKey !== "string") throw new Error("the host's answer has no `publicKey`");
  return { privateKey: answer.value, publicKey: answer.publicKey };
}

function get(kind: string, name: string, options: object): { value: string; publicKey?: string } {
  const answer = ask({ op: "secret.get", name, kind, ...options });
  if (typeof answer?.value !== "string") throw new Error("the host's answer has no `value`");
  return answer;
}
