"""Lines for whoever renders the package. `print` in a package's `generate` is `info`."""
from ._errors import HostError
from ._host import ask


def debug(message: str) -> None:
    """Shows what helps to understand a package that misbehaves."""
    _line("debug", message)


def info(message: str) -> None:
    """Shows what the user may want to know."""
    _line("info", message)


def warn(message: str) -> None:
    """Shows what the user should know."""
    _line("warn", message)


def _line(level, message):
    try:
        ask("log", level=level, message=str(message))
    except HostError:
        pass  # a package doesn't fail because nobody listens
