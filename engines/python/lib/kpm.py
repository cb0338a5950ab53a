"""What the script of a Kube, scripts/pre-install.py, may use:

    import kpm

    domain = kpm.ask("domain", "Under which domain is it reached?", default="example.com")
    password = kpm.password("admin")
    authority = kpm.authority("ca", "example authority")
    server = kpm.certificate("server", domain, authority=authority, names=[domain])
    kpm.render("templates/secret.yaml.j2", "manifests/secret.yaml", domain=domain, password=password, server=server)

The script sees the files of its Kube in a copy of its own; what it writes to manifests/ becomes part of the package. It has no network,
no other files and no processes. The same Kube, answers and release give the same bytes.
"""
import base64 as _base64
import json as _json
import os as _os
import re as _re

from _certificates import Certificate, authority, certificate
from mistletoe import Error, log
from mistletoe import _host
from mistletoe._run import Release as _Release, context_of as _context_of
from mistletoe.secret import KeyPair, alphanumeric, base64, ecdsa, ed25519, hex, password, uuid
from mistletoe._yaml import quoted as _quoted, to_yaml

__all__ = ["Certificate", "Error", "KeyPair", "alphanumeric", "ask", "authority", "base64", "certificate", "confirm", "ecdsa", "ed25519", "hex",
           "info", "new_environment", "password", "release", "render", "render_text", "to_yaml", "uuid", "values", "warn"]

info, warn = log.info, log.warn

release = _Release()
"""The name and namespace of what is being installed."""
values: dict = {}
"""The values: those of the Kube, and over them the user's."""

_KINDS = {str: "text", int: "integer", float: "number", bool: "boolean"}
_NAME = _re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*")
_interactive = False
_secrets: list[str] = []
_answered: list[str] = []
_defaults: list[str] = []
_TAKE_DEFAULT = {"kpm.take-default": True}
"""In place of an answer where a person is: they took the default, which stays the script's own."""


_open: dict | None = None


class Unanswered(BaseException):
    """Ends the script: the host asks, and runs it again with the answer."""


def start(document, interactive):
    """For the engine: what the script is run with."""
    global release, _interactive, _open
    values.clear()
    values.update(document.get("data") or {})
    release = _context_of(document).release
    _interactive = interactive
    _open = None
    _secrets.clear()
    _answered.clear()
    _defaults.clear()
    if interactive:
        _take_out_defaults(values)


def _take_out_defaults(found, above=""):
    """Afterwards the values are those of the install, which has no answer there."""
    for key, value in list(found.items()):
        if value == _TAKE_DEFAULT:
            _defaults.append(above + key)
            del found[key]
        elif isinstance(value, dict) and value:
            _take_out_defaults(value, f"{above}{key}.")
            if not value:
                del found[key]


def answers():
    """For the engine: the names of the answers that the values gave, and of those that nobody may see."""
    return list(_answered), list(_secrets)


def open_question():
    """For the engine: the first question that has no answer; None: each has one. A script may have caught what that raised."""
    return _open


def ask(name: str, prompt: str | None = None, *, default=None, type: type = str, choices=None, pattern: str | None = None, secret: bool = False):
    """The answer to a question: the value `name` of -f and --set (`a.b` is b within a); else of the user, where there is a terminal; else
    `default`. It is kept with the release, so that an upgrade doesn't ask again.

    `type` is str, int, float or bool; `choices` are all that may be answered; `pattern` is a regular expression that the whole answer
    fits. A `secret` answer isn't shown."""
    global _open
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Error(f"kpm.ask needs a name of letters, digits, '_' and '.', not {name!r}")
    if type not in _KINDS:
        raise Error(f"kpm.ask({name!r}): type is str, int, float or bool")
    if secret and name not in _secrets:
        _secrets.append(name)
    answer = _find(name)
    if answer is None:
        if default is None or (_interactive and name not in _defaults):
            _open = _open or _question(name, prompt, default, type, choices, secret)
            raise Unanswered(_open["name"])
        return default
    if name not in _answered:
        _answered.append(name)
    # Before anything can go wrong with it. Of true and false nothing is to be seen.
    if secret and isinstance(answer, (str, int, float)) and not isinstance(answer, bool):
        _host.ask("secret.hide", value=str(answer))
    return _checked(name, answer, type, choices, pattern, secret)


def confirm(name: str, prompt: str | None = None, *, default: bool | None = None) -> bool:
    """A question whose answer is yes or no: true or false of -f and --set."""
    return ask(name, prompt, default=default, type=bool)


def _find(name):
    found = values
    for part in name.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(part)
    return found


def _question(name, prompt, default, type, choices, secret):
    question = {"name": name, "prompt": prompt or name, "type": _KINDS[type], "secret": secret}
    if default is not None:
        question |= {"hasDefault": True} if secret else {"default": default}
    if choices is not None:
        question["choices"] = list(choices)
    return question


def _checked(name, answer, type, choices, pattern, secret):
    shown = "it" if secret else repr(answer)
    if type is float and isinstance(answer, int) and not isinstance(answer, bool):
        answer = float(answer)
    # bool is an int to Python, but no number to anybody else.
    if not isinstance(answer, type) or isinstance(answer, bool) != (type is bool):
        hint = "; --set-string gives a text" if type is str else ""
        raise Error(f"the answer to {name} has to be {'an' if type is int else 'a'} {_KINDS[type]}, and {shown} is none{hint}")
    if choices is not None and answer not in choices:
        raise Error(f"the answer to {name} is one of {', '.join(map(str, choices))}, and {shown} is none of them")
    if pattern is not None and not _re.fullmatch(pattern, str(answer)):
        raise Error(f"the answer to {name} has to fit {pattern}, and {shown} doesn't")
    return answer


# Jinja.


def new_environment():
    """Of Jinja: templates are the Kube's files, an unknown variable is an error."""
    import jinja2
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader("/package"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    environment.filters["b64encode"] = lambda text: _base64.b64encode(str(text).encode()).decode()
    environment.filters["b64decode"] = lambda text: _base64.b64decode(text).decode()
    environment.filters["to_yaml"] = to_yaml
    environment.filters["to_json"] = _json.dumps
    environment.filters["quote"] = lambda text: _quoted(str(text))
    return environment


def render_text(text: str, **variables) -> str:
    """A template as text. It sees the values, `release`, and what is given."""
    return new_environment().from_string(text).render({**values, "release": release, **variables})


def render(template: str, target: str, **variables) -> str:
    """Renders a file of the Kube into another, such as manifests/secret.yaml, and gives its text. See `render_text`."""
    text = new_environment().get_template(template).render({**values, "release": release, **variables})
    directory = _os.path.dirname(target)
    if directory:
        _os.makedirs(directory, exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    return text
