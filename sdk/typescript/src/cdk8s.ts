// cdk8s apps as packages.

import { Output } from "./output.ts";

/**
 * The objects of a cdk8s app as one file, `app.yaml`: byte for byte what `app.synthYaml()` gives under Node. Takes any app,
 * so that the SDK doesn't depend on a version of cdk8s.
 */
export function fromApp(app: { synthYaml(): string }): Output {
  return new Output().withFile("app.yaml", app.synthYaml());
}
