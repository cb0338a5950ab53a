"""From the input document to the result."""
import inspect
import json
from dataclasses import dataclass, field

from ._errors import Error
from ._inputs import inputs_class, read
from ._output import Output


@dataclass(frozen=True)
class Release:
    """What a package is rendered for."""
    name: str = ""
    """That of the whole release; of a called package, the input `name` is its own."""
    namespace: str = ""
    """Where objects without one go."""
    revision: int | None = None
    is_upgrade: bool | None = None


@dataclass(frozen=True)
class Capabilities:
    """What the cluster can do."""
    kube_version: str = ""
    """That of the API server, for example "v1.36.1"."""
    api_versions: tuple[str, ...] = ()
    """The group-versions that it serves, for example "apps/v1"."""


@dataclass(frozen=True)
class Context:
    """What a host tells a package about its surroundings."""
    release: Release = field(default_factory=Release)
    capabilities: Capabilities = field(default_factory=Capabilities)


def context_of(document: dict) -> Context:
    release = document.get("release") or {}
    capabilities = document.get("capabilities") or {}
    return Context(
        Release(release.get("name", ""), release.get("namespace", ""), release.get("revision"), release.get("isUpgrade")),
        Capabilities(capabilities.get("kubeVersion", ""), tuple(capabilities.get("apiVersions") or ())))


def render(generate, document: str | dict) -> Output:
    """Renders a package as a host would: calls `generate(inputs)`, or `generate(inputs, context)`, with what an input document says.
    Meant for the package's own tests."""
    if isinstance(document, (str, bytes)):
        try:
            document = json.loads(document)
        except ValueError as error:
            raise Error("the input document can't be read") from error
    if not isinstance(document, dict) or document.get("kind") != "MistInput":
        kind = document.get("kind") if isinstance(document, dict) else None
        raise Error(f"the input document has kind `{kind}`, expected `MistInput`")
    data = document.get("data") or {}
    declared = inputs_class(generate)
    arguments = [data if declared is None else read(data, declared), context_of(document)]
    output = generate(*arguments[:len(inspect.signature(generate).parameters)])
    if not isinstance(output, Output):
        raise Error(f"generate gave {'nothing' if output is None else 'a ' + type(output).__qualname__}, not an Output")
    return output
