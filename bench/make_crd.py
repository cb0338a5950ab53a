"""Writes a CustomResourceDefinition of about 700 KB, like those of large operators: deep schemas, long descriptions,
enums, formats. The same bytes every time.  Usage: make_crd.py FILE"""

import sys

WORDS = ("the resource that this field describes is reconciled by the operator when its parent changes "
         "and must not be set together with another source of the same name").split()


def sentence(seed):
    return " ".join(WORDS[(seed * 7 + i * 5) % len(WORDS)] for i in range(9 + seed % 7))


def schema(lines, indent, depth, seed):
    pad = " " * indent
    lines.append(f"{pad}description: |-")
    lines.append(f"{pad}  {sentence(seed).capitalize()}.")
    lines.append(f"{pad}  More info: https://example.com/docs/{seed}")
    if depth == 0:
        kind = seed % 4
        if kind == 0:
            lines += [f"{pad}type: string", f"{pad}enum:", f"{pad}- Always", f"{pad}- Never", f"{pad}- \"\""]
        elif kind == 1:
            lines += [f"{pad}type: integer", f"{pad}format: int32", f"{pad}minimum: 0", f"{pad}default: {seed % 10}"]
        elif kind == 2:
            lines += [f"{pad}type: boolean", f"{pad}nullable: true"]
        else:
            lines += [f"{pad}type: string", f"{pad}pattern: ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", f"{pad}maxLength: 63"]
        return
    lines += [f"{pad}type: object", f"{pad}required:", f"{pad}- field0", f"{pad}properties:"]
    for i in range(6):
        lines.append(f"{pad}  field{i}:")
        schema(lines, indent + 4, depth - 1, seed * 6 + i)


lines = ["apiVersion: apiextensions.k8s.io/v1", "kind: CustomResourceDefinition", "metadata:",
         "  name: benches.example.com", "spec:", "  group: example.com", "  scope: Namespaced",
         "  names: {kind: Bench, plural: benches, singular: bench, listKind: BenchList}", "  versions:"]
for version in range(2):
    lines += [f"  - name: v{version + 1}", "    served: true", f"    storage: {str(version == 0).lower()}",
              "    schema:", "      openAPIV3Schema:"]
    schema(lines, 8, 4 - version, version + 1)
with open(sys.argv[1], "w", encoding="utf-8") as out:
    out.write("\n".join(lines) + "\n")
