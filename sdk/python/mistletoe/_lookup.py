"""Reading from the cluster."""
from ._errors import Error, HostError
from ._host import ask


def lookup(api_version: str, kind: str, namespace: str, name: str) -> dict | None:
    """The object of the cluster; None if there is none of that name. `namespace` is empty for kinds that have none.

    The package may read the objects of its own release, and those that `spec.needs.clusterRead` of `mistletoe.yaml` declares and its user
    grants with `--allow-lookup`; any other object is an error, and the render fails whatever the package does with it. Without a cluster,
    in `mistctl generate` and in tests, there is none."""
    if not name:
        raise Error(f"lookup of a {kind} needs a name; lookup_all gives all of them")
    return _ask(api_version, kind, namespace, name)


def lookup_all(api_version: str, kind: str, namespace: str) -> list[dict]:
    """All objects of a kind in the namespace, or everywhere if it is empty. Errors as of `lookup`."""
    answer = _ask(api_version, kind, namespace, "")
    if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
        raise HostError("the host's answer has no `items`")
    return answer["items"]


def _ask(api_version, kind, namespace, name):
    return ask("lookup", apiVersion=api_version, kind=kind, namespace=namespace, name=name)
