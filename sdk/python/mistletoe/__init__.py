"""Kubernetes packages in Python: one function from typed inputs to Kubernetes objects.

    from dataclasses import dataclass
    from mistletoe import Output, value

    @dataclass(kw_only=True)
    class Inputs:
        name: str = value(doc="The name of the release and its objects")
        replicas: int = value(2, minimum=0, doc="How many Pods serve")

    def generate(inputs: Inputs) -> Output:
        return Output().with_object("web.yaml", deployment(inputs))

The host checks the inputs against the schema, which comes from the class, and puts the defaults in before the package sees them.
Same input, same bytes: a package has no network, its clock stands still, and its random bytes come from the release's seed.
"""
from . import log, secret
from ._call import Called, call
from ._errors import Error, HostError
from ._inputs import schema_of, value
from ._lookup import lookup, lookup_all
from ._output import Output
from ._run import Capabilities, Context, Release, render
from ._yaml import to_yaml

__all__ = ["Called", "Capabilities", "Context", "Error", "HostError", "Output", "Release", "call", "log", "lookup", "lookup_all", "render",
           "schema_of", "secret", "to_yaml", "value"]
