"""Other packages."""
from dataclasses import dataclass, field

from ._host import ask
from ._yaml import to_plain


@dataclass(frozen=True)
class Called:
    """What a called package gave."""
    files: dict[str, str] = field(default_factory=dict)
    """Path and YAML; `Output.with_files_from` takes them all."""
    message: str = ""
    """What it says to its user."""
    exports: object = None
    """Checked by the host against the package's schema."""


def call(name: str, inputs: object) -> Called:
    """Renders the package that `spec.dependencies` calls `name`, with `inputs` as its data. An error if that isn't declared, refuses the
    inputs or fails by itself: the error names the path of packages."""
    answer = ask("package.call", package=name, input=to_plain(inputs))
    return Called(answer.get("files") or {}, answer.get("message") or "", answer.get("exports"))
