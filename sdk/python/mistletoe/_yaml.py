"""Kubernetes YAML that people like to read and every YAML reader understands alike; the same bytes as the SDKs of the other languages
write.

Block style; `apiVersion`, `kind`, `name`, `namespace`, `metadata` first in each mapping, keys of dictionaries sorted, fields of data
classes in their order; texts of several lines as literal blocks. A string is plain only where YAML 1.1, YAML 1.2 and the resolvers of
kubectl and Helm agree that it is one: `1_000`, `on`, `0777` or `12:30:45` come out quoted.
"""
import dataclasses
import enum
import json
import math
import re

_LEADING_KEYS = ("apiVersion", "kind", "name", "namespace", "metadata")
# Words that some YAML reader takes for a boolean or null, in lower case.
_RESERVED_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"))
# What YAML 1.1 (section 5.1) counts as not printable, or as a line break.
_NEEDS_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9 \-_./:@%+,=]*")
# A Kubernetes quantity with a suffix that no YAML number has.
_QUANTITY = re.compile(r"[0-9]+(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi|Ei)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f]")


def to_yaml(value: object) -> str:
    """Writes `value` as one YAML document that ends with a line break."""
    node = to_plain(value)
    return _lines(node, 0) if _is_filled(node) else _inline(node, 0)


def to_plain(value: object, path: str = "") -> object:
    """`value` as JSON has it: dictionaries, lists, texts, numbers, booleans and None. TypeError or ValueError for everything else."""
    if value is None or isinstance(value, bool) or isinstance(value, str) and not isinstance(value, enum.Enum):
        return value
    if isinstance(value, enum.Enum):
        return to_plain(value.value, path)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            number = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            raise ValueError(f"{_at(path)} is {number}, which neither JSON nor YAML has")
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = ((each.metadata.get("name", each.name), getattr(value, each.name)) for each in dataclasses.fields(value))
        # What isn't given isn't written.
        plain = {name: to_plain(each, f"{path}.{name}") for name, each in members if each is not None}
        return {key: plain[key] for key in sorted(plain, key=_rank)}
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{_at(path)} has the key {key!r}, which is no text")
        return {key: to_plain(value[key], f"{path}.{key}") for key in sorted(value, key=lambda key: (_rank(key), key))}
    if isinstance(value, (list, tuple)):
        return [to_plain(each, f"{path}[{index}]") for index, each in enumerate(value)]
    raise TypeError(f"{_at(path)} is of {type(value).__qualname__}, which YAML doesn't have")


def quoted(text: str) -> str:
    """`text` as JSON that is YAML, too."""
    return escaped(json.dumps(text, ensure_ascii=False))


def escaped(text: str) -> str:
    """JSON without the characters that JSON allows in a string and YAML 1.1 doesn't, or folds as a line break."""
    return _NEEDS_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _at(path):
    return path.removeprefix(".") or "the value"


def _rank(key):
    return _LEADING_KEYS.index(key) if key in _LEADING_KEYS else len(_LEADING_KEYS)


def _is_filled(node):
    return isinstance(node, (dict, list)) and bool(node)


def _lines(node, indent):
    """A list or mapping that isn't empty, from the current column on."""
    if isinstance(node, list):
        entries = ["- " + (_lines(each, indent + 2) if _is_filled(each) else _inline(each, indent)) for each in node]
    else:
        entries = [_scalar(key) + ":" + _member(each, indent) for key, each in node.items()]
    return (" " * indent).join(entries)


def _member(value, indent):
    if not _is_filled(value):
        return " " + _inline(value, indent)
    inner = indent if isinstance(value, list) else indent + 2
    return "\n" + " " * inner + _lines(value, inner)


def _inline(node, indent):
    """What starts on the current line, up to and with its line break."""
    if isinstance(node, str):
        return _literal(node, indent + 2) if _is_literal(node) else _scalar(node) + "\n"
    if isinstance(node, list):
        return "[]\n"
    if isinstance(node, dict):
        return "{}\n"
    return (_number(node) if isinstance(node, float) else json.dumps(node)) + "\n"


def _number(value):
    """As ECMAScript writes a number, from its shortest digits: with an exponent below 1e-6 and from 1e21 on."""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - len(whole + fraction) + len(digits)
    digits = digits.rstrip("0")
    if not digits:
        return "0"
    if not -5 <= point <= 21:
        written = f"{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1:+d}"
    elif point <= 0:
        written = "0." + "0" * -point + digits
    elif point < len(digits):
        written = f"{digits[:point]}.{digits[point:]}"
    else:
        written = digits.ljust(point, "0")
    return "-" + written if value < 0 else written


def _scalar(text):
    return text if _is_plain(text) else quoted(text)


def _literal(text, indent):
    """A literal block (YAML 1.1, section 9.3.1); its chomping indicator keeps the line breaks at the end exact."""
    body = text.rstrip("\n")
    breaks = len(text) - len(body)
    written = "".join(" " * indent + line + "\n" if line else "\n" for line in body.split("\n"))
    return f"{('|-', '|', '|+')[min(breaks, 2)]}\n{written}" + "\n" * max(0, breaks - 1)


def _is_plain(text):
    """Whether every YAML reader takes the unquoted text for this very string."""
    if _QUANTITY.fullmatch(text):
        return True
    return (_PLAIN.fullmatch(text) is not None and ": " not in text and not text.endswith((" ", ":"))
            and text.lower() not in _RESERVED_WORDS)


def _is_literal(text):
    """Whether a literal block shows the text exactly; its first line decides the indentation, so it can't be blank."""
    return "\n" in text.rstrip("\n") and not text[0].isspace() and not _CONTROL.search(text) and not _NEEDS_ESCAPE.search(text)
