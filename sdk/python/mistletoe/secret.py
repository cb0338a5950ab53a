"""Secrets that stay: the host derives each from the release's seed and from names, so that the same release gets the same secret on
every install, upgrade and dry run (docs/secrets.md). A name is up to 128 letters, digits, '-', '_', '.' and '/'; each form of a secret
needs a name of its own."""
from collections.abc import Sequence
from typing import Literal, NamedTuple

from ._errors import HostError
from ._host import ask

Class = Literal["lower", "upper", "digit", "symbol"]


class KeyPair(NamedTuple):
    """PEM (PKCS #8 and SubjectPublicKeyInfo)."""
    private_key: str
    public_key: str


def password(name: str, *, length: int | None = None, alphabet: str | None = None, require: Sequence[Class] | None = None) -> str:
    """One of 24 letters and digits. `length` is 4 to 1024; `alphabet` holds at least two characters from '!' to '~', each once;
    `require` demands at least one character of each class, which the alphabet must have."""
    options = {"length": length, "alphabet": alphabet, "require": None if require is None else list(require)}
    return _get("password", name, **{key: each for key, each in options.items() if each is not None})["value"]


def alphanumeric(name: str, length: int) -> str:
    """`length` letters and digits (4 to 1024)."""
    return _get("alphanumeric", name, length=length)["value"]


def hex(name: str, length: int) -> str:
    """`length` lower-case hexadecimal digits (4 to 1024)."""
    return _get("hex", name, length=length)["value"]


def base64(name: str, length: int) -> str:
    """`length` random bytes (4 to 1024), as text in base64."""
    return _get("base64", name, length=length)["value"]


def uuid(name: str) -> str:
    """A random one (version 4)."""
    return _get("uuid", name)["value"]


def ed25519(name: str) -> KeyPair:
    """A key pair; not in tests without a host."""
    return _pair("ed25519", name)


def ecdsa(name: str) -> KeyPair:
    """A key pair on P-256; not in tests without a host."""
    return _pair("ecdsa", name)


def _pair(kind, name):
    answer = _get(kind, name)
    if not isinstance(answer.get("publicKey"), str):
        raise HostError("the host's answer has no `publicKey`")
    return KeyPair(answer["value"], answer["publicKey"])


def _get(kind, name, **options):
    answer = ask("secret.get", name=name, kind=kind, **options)
    if not isinstance(answer, dict) or not isinstance(answer.get("value"), str):
        raise HostError("the host's answer has no `value`")
    return answer
