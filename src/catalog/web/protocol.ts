// What the catalog, the page and its worker tell each other about one preview.

/** GET …/preview (src/catalog/json_views.cc): what to run, and with what. */
export interface Plan {
  /** The package and its version, for errors. */
  readonly name: string;
  readonly module: PackageModule;
  /** In this order; each reads what its predecessor left. */
  readonly runs: readonly EngineRun[];
  /** Nanoseconds since 1970: the wall clock, which stands still. */
  readonly clock: string;
  /** Hexadecimal, of the random bytes. */
  readonly seed: string;
  readonly keys: { readonly ed25519: Secret; readonly ecdsa: Secret };
  readonly limits: Limits;
  /** Bytes on the way, where the browser keeps nothing yet. */
  readonly transfer: number;
  /** A query for modules that aren't found: it says of which version they are. */
  readonly ofVersion: string;
  /** Prints the same; null: the package's repository isn't linked any more, and no reference names it. */
  readonly command: string | null;
}

export interface PackageModule {
  readonly url: string;
  /** Whether it holds files, which engines read; otherwise it is what runs. */
  readonly files: boolean;
}

export interface EngineRun {
  /** Its name; null: the package runs by itself. */
  readonly engine: string | null;
  readonly url: string;
  readonly input: string;
  /** Whether it is scripts/pre-install.py, whose result is the package that the next engine reads. */
  readonly script: boolean;
}

export interface Limits {
  readonly seconds: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly requests: number;
}

/** What a package is given for a secret; key pairs have a publicKey, too. */
export interface Secret {
  readonly value: string;
}

/** An error as mistctl shows it. */
export interface ErrorReport {
  readonly message: string;
  readonly where?: Place | null;
  readonly because?: string | null;
  readonly hint?: string | null;
  readonly frames?: readonly string[];
}

/** 0: unknown; "": without the text of the line. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

/** Said by the package while it ran. */
export interface Line {
  readonly level: string;
  readonly text: string;
}

/** Characters of what a package gives. */
export const MOST_SHOWN = 1 << 20;

export interface Rendered {
  /** YAML, as `mistctl generate -o raw` prints it, but with names in the place of secrets; its first MOST_SHOWN characters. */
  readonly text: string;
  /** Of all of it. */
  readonly length: number;
  readonly objects: number;
  readonly lines: readonly Line[];
  /** Random bytes that the package asked for. */
  readonly drawn: number;
  /** The names of the first. */
  readonly secrets: readonly string[];
  readonly moreSecrets: number;
  readonly milliseconds: number;
}

/** From the worker to the page; `done` and `failed` are the last. */
export type Message =
  | { readonly state: "loading" }
  | { readonly state: "running" }
  | ({ readonly state: "done" } & Rendered)
  | { readonly state: "failed"; readonly error: ErrorReport };
