// The package of the conformance table, in TypeScript; its siblings are in the other languages.

import { call, log, Output, secret, toYaml } from "mistletoe";

export interface Input {
  name: string;
  /** null takes the default away: then the host gives none. */
  replicas?: number;
  message: string;
  /** The host fills the protocol in. */
  ports: { name: string; port: number; protocol: string }[];
  labels: Record<string, string>;
  level: string;
  fail: string;
  call: boolean;
  backend?: { host: string; port?: number };
  values?: unknown;
}

export function generate(input: Input): Output {
  log.info(`${input.name} is rendered`);
  if (input.fail === "infinity") return new Output().withExports({ size: -Infinity });
  failAsTold(input);
  const { name } = input;
  const output = new Output()
    .withObject("web/deployment.yaml", deployment(input))
    .withObject("web/service.yaml", service(input))
    .withObject("secret.yaml", secrets(name))
    .withObject("values.yaml", {
      apiVersion: "example.com/v1",
      kind: "Anything",
      metadata: { name },
      spec: {
        values: input.values ?? null,
        message: input.message,
        backend: backendOf(input),
        numbers: [100000.0, 2.5, -0.00001, 1e-7, 1e20, 1e21],
      },
    })
    .after(`Deployment/${name}`, `Secret/${name}`)
    .withMessage(`Merry Christmas, ${name} ❄`)
    .withExports({ host: name, ports: input.ports.length });
  if (input.call) output.withFilesFrom("called", call("called", { size: replicasOf(input) }));
  return output;
}

function failAsTold(input: Input): void {
  switch (input.fail) {
    case "":
      return;
    case "cause":
      throw new Error("can't make the Service", { cause: new Error("no port") });
    case "secret":
      secret.password("not a name!");
      return;
    case "undeclared":
      call("nobody", {});
      return;
    case "called":
      call("called", { size: -1 });
      return;
    case "nan":
      new Output().withObject("x.yaml", { spec: { replicas: NaN } });
      return;
    case "yaml":
      toYaml({ spec: { replicas: NaN } });
      return;
    default:
      throw new Error(`it fails: ${input.fail}`);
  }
}

const backendOf = ({ backend }: Input): object | null => backend === undefined ? null : { port: 5432, ...backend };
const replicasOf = (input: Input): number => input.replicas ?? 2;

function deployment(input: Input): object {
  const labels = { app: input.name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: input.name, labels: input.labels, annotations: { level: input.level } },
    spec: {
      replicas: replicasOf(input),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "web",
              image: "registry.example/web:1.2",
              args: ["--port=80", "-v", "", "a: b", "yes", "0777", "1e3", "12:30:45"],
              command: ["sh", "-c", "set -e\nexec web\n"],
              resources: { requests: { cpu: "250m", memory: "64Mi" }, limits: {} },
              env: [],
            },
          ],
        },
      },
    },
  };
}

function service(input: Input): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: input.name },
    spec: { selector: { app: input.name }, ports: input.ports },
  };
}

function secrets(name: string): object {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: {
      password: secret.password("db"),
      pin: secret.password("pin", { length: 8, alphabet: "0123456789", require: ["digit"] }),
      token: secret.hex("token", 40),
      salt: secret.base64("salt", 16),
      id: secret.uuid("id"),
      key: secret.ed25519("key").privateKey,
    },
  };
}
