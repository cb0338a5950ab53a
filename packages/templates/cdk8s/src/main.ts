// A small web server: a Deployment and its Service, as a cdk8s app.

import { ApiObject, App, Chart } from "cdk8s";
import type { Output } from "mistletoe";
import { fromApp } from "mistletoe/cdk8s";

/** As mistletoe.yaml describes it; the host has checked it and put the defaults in. */
export interface Input {
  name: string;
  replicas: number;
  image: string;
  serviceType: "ClusterIP" | "NodePort" | "LoadBalancer";
}

class Web extends Chart {
  constructor(app: App, input: Input) {
    super(app, "web");
    // They find the Pods: a Deployment's selector can't change, so these stay as they are for ever.
    const labels = { "app.kubernetes.io/name": "my-package", "app.kubernetes.io/instance": input.name };
    new ApiObject(this, "deployment", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: input.name, labels },
      spec: {
        replicas: input.replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
            containers: [
              {
                name: "web",
                image: input.image,
                ports: [{ name: "http", containerPort: 8080 }],
                readinessProbe: { httpGet: { path: "/", port: "http" } },
                securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
                resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
              },
            ],
          },
        },
      },
    });
    new ApiObject(this, "service", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: input.name, labels },
      spec: {
        type: input.serviceType,
        selector: labels,
        ports: [{ name: "http", port: 80, targetPort: "http" }],
      },
    });
  }
}

export function generate(input: Input): Output {
  const app = new App();
  new Web(app, input);
  return fromApp(app);
}
