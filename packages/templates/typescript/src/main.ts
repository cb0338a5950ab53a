// A small web server: a Deployment and its Service.

import type { Deployment } from "kubernetes-types/apps/v1";
import type { Service } from "kubernetes-types/core/v1";
import { Output } from "mistletoe";

/** As mistletoe.yaml describes it; the host has checked it and put the defaults in. */
export interface Input {
  name: string;
  replicas: number;
  image: string;
  serviceType: "ClusterIP" | "NodePort" | "LoadBalancer";
}

export function generate(input: Input): Output {
  return new Output().withObject("deployment.yaml", deployment(input)).withObject("service.yaml", service(input));
}

function deployment(input: Input): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: input.name, labels: labels(input) },
    spec: {
      replicas: input.replicas,
      selector: { matchLabels: labels(input) },
      template: {
        metadata: { labels: labels(input) },
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
  };
}

function service(input: Input): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: input.name, labels: labels(input) },
    spec: {
      type: input.serviceType,
      selector: labels(input),
      ports: [{ name: "http", port: 80, targetPort: "http" }],
    },
  };
}

/** They find the Pods: a Deployment's selector can't change, so these stay as they are for ever. */
function labels(input: Input): Record<string, string> {
  return { "app.kubernetes.io/name": "my-package", "app.kubernetes.io/instance": input.name };
}
