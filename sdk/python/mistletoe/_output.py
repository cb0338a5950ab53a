"""What a package gives back."""
from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping

from ._call import Called
from ._errors import Error
from ._yaml import escaped, quoted, to_plain, to_yaml

_ORDER_FILE = "mist-order.yaml"
API_VERSION = "mistletoe.dev/v1"
_OWN_FILE = (lambda: 0).__code__.co_filename


class Output:
    """The files of a render, in the order in which they were first set. Each is Kubernetes YAML, one document or several."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._edges: list[dict[str, str]] = []
        self._message = ""
        self._exports: object = None

    def with_file(self, path: str, content: str) -> Output:
        """Sets the file at `path`, a relative path such as `web/service.yaml`, replacing what was there."""
        if not isinstance(path, str) or not isinstance(content, str):
            raise TypeError(f"a file has a path and a text, not {type(path).__qualname__} and {type(content).__qualname__}")
        self._files[path] = content
        self._places[path] = _caller()
        return self

    def with_files(self, files: Mapping[str, str] | Iterable[tuple[str, str]]) -> Output:
        """Sets one file for each entry."""
        for path, content in dict(files).items():
            self.with_file(path, content)
        return self

    def with_files_from(self, folder: str, called: Called) -> Output:
        """Adds the files of a package that was called, each below `folder`."""
        return self.with_files({f"{folder}/{path}": content for path, content in sorted(called.files.items())})

    def with_object(self, path: str, object: object) -> Output:
        """Sets the file at `path` to one object: a dictionary or a data class. Safer than a text template, since no value can change
        the structure of the document."""
        try:
            content = to_yaml(object)
        except (TypeError, ValueError) as error:
            raise Error(f"can't write the file {path}: {error}") from None
        return self.with_file(path, content)

    def after(self, object: str, target: str) -> Output:
        """Declares that `object` (KIND[.GROUP]/[NAMESPACE/]NAME) comes after `target` (KIND/NAME, with @ready behind it to wait until it
        is ready): docs/order.md."""
        return self._edge({"object": object, "after": target})

    def before(self, object: str, target: str) -> Output:
        """Declares that `object` comes before `target`; see `after`."""
        return self._edge({"object": object, "before": target})

    def with_message(self, message: str) -> Output:
        """Sets the text that the user sees after the render, such as how to go on."""
        self._message = str(message)
        return self

    def with_exports(self, exports: object) -> Output:
        """Sets what packages that call this one may read."""
        self._exports = exports
        return self

    @property
    def files(self) -> Mapping[str, str]:
        return self._files

    @property
    def places(self) -> Mapping[str, tuple[str, int]]:
        """Of each file of the output where it was set: the program's file and line."""
        return self._places

    @property
    def message(self) -> str:
        return self._message

    @property
    def exports(self) -> object:
        return self._exports

    def _edge(self, edge):
        self._edges.append(edge)
        return self.with_object(_ORDER_FILE, {"apiVersion": API_VERSION, "kind": "MistOrder", "edges": self._edges})

    def data(self) -> dict[str, object]:
        """`data` of the MistResult."""
        data: dict[str, object] = {"result": "Ok"}
        if self._message:
            data["message"] = self._message
        data["files"] = self._files
        if self._exports is not None:
            try:
                exports = to_plain(self._exports)
            except (TypeError, ValueError) as error:
                raise Error(f"can't write the exports: {error}") from None
            # A host reads a text as YAML, which its quotation is.
            data["exports"] = quoted(exports) if isinstance(exports, str) else exports
        return data


def _caller():
    """File and line of what called this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename == _OWN_FILE:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def result_document(data: Mapping[str, object]) -> str:
    """The MistResult, as a line of JSON that every YAML reader reads alike."""
    return escaped(json.dumps({"apiVersion": API_VERSION, "kind": "MistResult", "data": data}, ensure_ascii=False)) + "\n"
