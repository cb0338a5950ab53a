"""Other packages."""
from dataclasses import dataclass, field

from ._errors import Error
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
    try:
        plain = to_plain(inputs)
    except (TypeError, ValueError) as error:
        raise Error(f"can't write the input of {name}: {error}") from None
    answer = ask("package.call", package=name, input=plain)
    return Called(answer.get("files") or {}, answer.get("message") or "", answer.get("exports"))
