// Reading from the cluster: the release's own objects, and those that `spec.needs.clusterRead` of mistletoe.yaml declares and the
// user grants with --allow-lookup. Without a cluster, in `mistctl generate` and in tests, there are no objects.

import { ask } from "./host.ts";

/**
 * The object; undefined if there is none of that name. `namespace` is empty for kinds that have none. Throws if the package may
 * not read it, and then the render fails whatever the package does.
 */
export function lookup(apiVersion: string, kind: string, namespace: string, name: string): any {
  if (name === "") throw new Error(`lookup of a ${kind} needs a name; lookupAll gives all of them`);
  return ask({ op: "lookup", apiVersion, kind, namespace, name }) ?? undefined;
}

/** All objects of a kind in the namespace, or everywhere if it is empty. Throws as `lookup` does. */
export function lookupAll(apiVersion: string, kind: string, namespace: string): any[] {
  return ask({ op: "lookup", apiVersion, kind, namespace, name: "" }).items;
}
