"""Writes Kustomize directories to measure: a base and an overlay with what real ones have.

    overlay.py DIR RESOURCES      DIR/base and DIR/overlay; build DIR/overlay"""

import pathlib
import sys

DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{i}
  labels: {{tier: t{tier}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: app-{i}}}}}
  template:
    metadata:
      labels: {{app: app-{i}}}
    spec:
      containers:
      - name: main
        image: example.org/app-{tier}:1.0
        ports: [{{containerPort: 8080, name: http}}]
        envFrom: [{{configMapRef: {{name: settings-{i}}}}}]
        resources: {{requests: {{cpu: 100m, memory: 128Mi}}, limits: {{memory: 256Mi}}}}
        readinessProbe: {{httpGet: {{path: /healthz, port: http}}}}
"""
SERVICE = """apiVersion: v1
kind: Service
metadata: {{name: app-{i}}}
spec:
  selector: {{app: app-{i}}}
  ports: [{{port: 80, targetPort: http}}]
"""
CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{i}}}
data: {{MODE: production, INDEX: "{i}"}}
"""
ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: app-{i}}}\n"


def write(directory, resources):
    base, overlay = directory / "base", directory / "overlay"
    base.mkdir(parents=True)
    overlay.mkdir()
    kinds = {"deployment": DEPLOYMENT, "service": SERVICE, "config": CONFIG, "account": ACCOUNT}
    names = []
    for i in range(resources // len(kinds)):
        for kind, text in kinds.items():
            names.append(f"{kind}-{i}.yaml")
            (base / names[-1]).write_text(text.format(i=i, tier=i % 5))
    (base / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {name}\n" for name in names))
    (overlay / "settings.properties").write_text("level=debug\nregion=eu\n")
    (overlay / "replicas.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: app-0}\nspec: {replicas: 5}\n")
    (overlay / "kustomization.yaml").write_text("""namespace: prod
namePrefix: prod-
resources: [../base]
labels:
- pairs: {env: prod}
  includeSelectors: true
commonAnnotations: {owner: team}
images:
- {name: example.org/app-0, newTag: "2.0"}
- {name: example.org/app-1, newName: mirror.example.org/app-1}
configMapGenerator:
- name: shared
  files: [settings.properties]
patches:
- path: replicas.yaml
- target: {kind: Deployment, labelSelector: tier=t1}
  patch: |-
    - {op: add, path: /spec/template/spec/priorityClassName, value: high}
""")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
