"""The defaults that a package's files lay below the user's values. They are read by the rules of go-yaml v2, as kubectl, Helm and the host
read them, and not by those of PyYAML, where `12:30` is 750 and `1e3` a text."""
import functools
import re

_NAMED = {text: value for value, texts in ((None, ("", "~", "null", "Null", "NULL")),
                                           (True, "y Y yes Yes YES true True TRUE on On ON".split()),
                                           (False, "n N no No NO false False FALSE off Off OFF".split())) for text in texts}
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def resolve(text):
    """What a scalar without quotes means."""
    if text in _NAMED:
        return _NAMED[text]
    plain = text.replace("_", "") if text[0] in "0123456789+-." else ""
    found = _INTEGER.fullmatch(plain)
    if found:
        digits, base = next((each, base) for each, base in zip(found.groups()[1:], (16, 2, 8, 10)) if each is not None)
        number = int(found[1] + digits, base)
        if -2**63 <= number < 2**64:
            return number
    return float(plain) if _FLOAT.fullmatch(plain) else text


@functools.cache
def _loader():
    import yaml
    plain, merge = "tag:mistletoe.dev,2026:plain", "tag:yaml.org,2002:merge"

    class Loader(yaml.SafeLoader):
        def resolve(self, kind, value, implicit):
            if kind is yaml.ScalarNode and implicit[0]:
                return merge if value == "<<" else plain
            return super().resolve(kind, value, implicit)

        def construct_mapping(self, node, deep=False):
            self.flatten_mapping(node)
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    key.tag = self.DEFAULT_SCALAR_TAG
            return super().construct_mapping(node, deep)

    Loader.add_constructor(plain, lambda loader, node: resolve(node.value))
    return Loader


def read(text):
    import yaml
    return yaml.load(text, _loader())


def overlay(under, over):
    """Lays `over` upon `under`, which it changes: objects are merged, null removes."""
    for key, each in over.items():
        if each is None:
            under.pop(key, None)
        elif isinstance(each, dict):
            inner = under.get(key)
            under[key] = overlay(dict(inner) if isinstance(inner, dict) else {}, each)
        else:
            under[key] = each
    return under


def defaults(directory):
    """Those of K3.yaml, over them those of values.yaml."""
    found = None
    for file in ("K3.yaml", "values.yaml"):
        try:
            with open(f"{directory}/{file}", encoding="utf-8") as opened:
                values = read(opened.read())
        except FileNotFoundError:
            continue
        if file == "K3.yaml":
            values = values.get("values") if isinstance(values, dict) else None
        if isinstance(values, dict):
            # A default of null is a value that may be given; in the second file it removes one.
            found = values if found is None else overlay(found, values)
    return found or {}
