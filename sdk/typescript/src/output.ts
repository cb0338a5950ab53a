// What a package gives back.

import type { Called } from "./call.ts";
import { toYaml } from "./yaml.ts";

const ORDER_FILE = "mist-order.yaml";

/**
 * The files of a successful render, in the order in which they were first set. Each is Kubernetes YAML, one document or
 * several.
 */
export class Output {
  readonly #files = new Map<string, string>();
  readonly #edges: object[] = [];
  #message: string | undefined;
  #exports: unknown;

  /** Sets the file at `path`, a relative path such as `web/service.yaml`, replacing what was there. */
  withFile(path: string, content: string): this {
    this.#files.set(path, content);
    return this;
  }

  /** Sets one file for each entry. */
  withFiles(files: Iterable<readonly [string, string]>): this {
    for (const [path, content] of files) this.withFile(path, content);
    return this;
  }

  /** Adds the files of a package that was called, each below `folder`. */
  withFilesFrom(folder: string, called: Called): this {
    return this.withFiles([...called.files].map(([path, content]) => [`${folder}/${path}`, content] as const));
  }

  /** Sets the file at `path` to one object. Safer than a text template: no value can change the document's structure. */
  withObject(path: string, object: object): this {
    try {
      return this.withFile(path, toYaml(object));
    } catch (error) {
      throw new Error(`can't write the file ${path}`, { cause: error });
    }
  }

  /**
   * Declares that `object` (`KIND[.GROUP]/[NAMESPACE/]NAME`) comes after `target` (`KIND/NAME`, with `@ready` behind it to
   * wait until it is ready): docs/order.md.
   */
  after(object: string, target: string): this {
    return this.#edge({ object, after: target });
  }

  /** Declares that `object` comes before `target`; see `after`. */
  before(object: string, target: string): this {
    return this.#edge({ object, before: target });
  }

  /** Sets the text that the user sees after the render, such as how to go on. */
  withMessage(message: string): this {
    this.#message = message;
    return this;
  }

  /** Sets what packages that call this one may read. */
  withExports(exports: unknown): this {
    this.#exports = exports;
    return this;
  }

  /** The content of the file at `path`. */
  file(path: string): string | undefined {
    return this.#files.get(path);
  }

  get files(): ReadonlyMap<string, string> {
    return this.#files;
  }

  get message(): string | undefined {
    return this.#message;
  }

  get exports(): unknown {
    return this.#exports;
  }

  #edge(edge: object): this {
    this.#edges.push(edge);
    return this.withFile(ORDER_FILE, toYaml({ apiVersion: "mistletoe.dev/v1", kind: "MistOrder", edges: this.#edges }));
  }
}
