"""Typed inputs: a data class, its JSON Schema, and reading it from what the host gives."""
import copy
import dataclasses
import enum
import inspect
import types
import typing

from ._errors import Error
from ._yaml import to_plain

_KEYWORDS = {"doc": "description", "enum": "enum", "minimum": "minimum", "maximum": "maximum", "min_length": "minLength",
             "max_length": "maxLength", "min_items": "minItems", "max_items": "maxItems", "pattern": "pattern"}
_SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", types.NoneType: "null"}


def value(default=dataclasses.MISSING, *, name: str | None = None, **rules):
    """A field of a class of inputs: its default, and what the schema says of it: `doc`, `enum`, `minimum`, `maximum`, `min_length`,
    `max_length`, `min_items`, `max_items`, `pattern`, as in JSON Schema. `name` is the input's name where Python can't have it
    (`class`, `cluster-name`).

    A field must be given unless it has a default; the release's name always is."""
    for rule in rules:
        if rule not in _KEYWORDS:
            raise TypeError(f"value() has no {rule}; there are {', '.join(_KEYWORDS)}")
    metadata: dict[str, object] = {"rules": {_KEYWORDS[rule]: each for rule, each in rules.items()}}
    if name is not None:
        metadata["name"] = name
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    if isinstance(default, (str, int, float, types.NoneType)):
        return dataclasses.field(default=default, metadata=metadata)
    return dataclasses.field(default_factory=lambda: copy.deepcopy(default), metadata=metadata)


def inputs_class(generate):
    """What the first parameter of a package's function is declared to be; None: nothing, or a plain dictionary."""
    parameters = list(inspect.signature(generate).parameters.values())
    if not parameters:
        return None
    declared = typing.get_type_hints(generate).get(parameters[0].name)
    return declared if dataclasses.is_dataclass(declared) else None


def schema_of(cls: type) -> dict[str, object]:
    """The JSON Schema (2020-12) of a data class of inputs. Nothing else than its fields may be given."""
    schema = _schema_of_class(cls)
    # The host gives it, whatever the user gives.
    required = [each for each in typing.cast(list, schema.get("required", [])) if each != "name"]
    schema.pop("required", None)
    return {**schema, "required": required} if required else schema


def _fields(cls):
    hints = typing.get_type_hints(cls)
    return [(each.metadata.get("name", each.name), each, hints[each.name]) for each in dataclasses.fields(cls) if each.init]


def _default(field):
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else dataclasses.MISSING


def _schema_of_class(cls):
    properties, required = {}, []
    for name, field, declared in _fields(cls):
        schema = {**_schema_of(declared, f"{cls.__qualname__}.{field.name}"), **field.metadata.get("rules", {})}
        default = _default(field)
        if default is dataclasses.MISSING:
            required.append(name)
        elif default is not None:
            schema["default"] = to_plain(default)
        properties[name] = schema
    schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": required} if required else schema


def _without_none(declared):
    """`str` of `str | None`, and whether there was a None."""
    if typing.get_origin(declared) not in (typing.Union, types.UnionType):
        return declared, False
    others = [each for each in typing.get_args(declared) if each is not types.NoneType]
    if len(others) != 1:
        return declared, False
    return others[0], True


def _schema_of(declared, where):
    declared, _ = _without_none(declared)
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if declared in (typing.Any, object):
        return {}
    if dataclasses.is_dataclass(declared):
        return _schema_of_class(declared)
    if origin is typing.Literal:
        return _of_values(arguments)
    if isinstance(declared, type) and issubclass(declared, enum.Enum):
        return _of_values([each.value for each in declared])
    if origin is list:
        return {"type": "array", "items": _schema_of(arguments[0], where)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema_of(arguments[1], where)}
    if declared in _SIMPLE:
        return {"type": _SIMPLE[declared]}
    raise TypeError(f"{where} is of {declared!r}; inputs are str, bool, int, float, list[…], dict[str, …], Literal[…], enumerations, data "
                    "classes of those, and Any")


def _of_values(values):
    kinds = {_SIMPLE.get(type(each)) for each in values}
    return {"type": kinds.pop(), "enum": list(values)} if len(kinds) == 1 else {"enum": list(values)}


def read(data, cls):
    """The inputs as an object of the class. Error, with the path of what doesn't fit."""
    return _read(data, cls, "")


def _read(data, declared, path):
    declared, optional = _without_none(declared)
    if data is None and optional:
        return None
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if dataclasses.is_dataclass(declared):
        return _read_class(_checked(data, dict, path), declared, path)
    if origin is list:
        return [_read(each, arguments[0], f"{path}[{index}]") for index, each in enumerate(_checked(data, list, path))]
    if origin is dict:
        return {key: _read(each, arguments[1], f"{path}.{key}") for key, each in _checked(data, dict, path).items()}
    if isinstance(declared, type) and issubclass(declared, enum.Enum):
        try:
            return declared(data)
        except ValueError:
            raise _misfit(path, f"it is {data!r}, not one of {', '.join(repr(each.value) for each in declared)}") from None
    if origin is typing.Literal:
        if data not in arguments:
            raise _misfit(path, f"it is {data!r}, not one of {', '.join(map(repr, arguments))}")
        return data
    if declared in _SIMPLE:
        return _checked(data, declared, path)
    return data


def _read_class(data, cls, path):
    given = {}
    for name, field, declared in _fields(cls):
        if name in data:
            given[field.name] = _read(data[name], declared, f"{path}.{name}")
        elif _default(field) is dataclasses.MISSING:
            raise _misfit(f"{path}.{name}", "it is missing")
    return cls(**given)


def _checked(data, wanted, path):
    is_number = isinstance(data, (int, float)) and not isinstance(data, bool)
    if wanted is float and is_number:
        return data
    if wanted is int and is_number and (isinstance(data, int) or data.is_integer()):
        return int(data)
    if type(data) is not wanted:
        raise _misfit(path, f"it is {_named(data)}, not {_with_article(_SIMPLE[wanted])}")
    return data


def _with_article(noun):
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _named(data):
    return "null" if data is None else _with_article(_SIMPLE.get(type(data), type(data).__qualname__))


def _misfit(path, words):
    path = path.removeprefix(".")
    return Error(f"the input `{path}` doesn't fit this package: {words}" if path else f"the inputs don't fit this package: {words}")
