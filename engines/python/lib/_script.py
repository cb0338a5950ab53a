"""Runs the script of a Kube in its scratch copy of the package's files, and answers with what it wrote."""
import builtins
import io
import os
import sys

MANIFESTS = "manifests"


def _tree():
    """Path and bytes of each file of the package."""
    files = {}
    for directory, _, names in os.walk("/package"):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, "/package")] = file.read()
    return files


def _no_input(prompt=""):
    del prompt
    from mistletoe import Error
    raise Error("input() has nobody to ask in the sandbox; kpm.ask(\"NAME\", \"the question\") takes answers from -f and --set, and asks "
                "where there is a terminal")


def _needs_host(error):
    """What the script wants of the host's Python; None: nothing."""
    from _engine import needs_host
    while error is not None and needs_host(error) is None:
        error = error.__cause__ or error.__context__
    return None if error is None else needs_host(error)


def _text(path, content):
    from mistletoe import Error
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Error(f"the script wrote {path}, which isn't text in UTF-8") from None


def run(script, options, document, run_file):
    import kpm
    from _engine import Lines, failure
    before = _tree()
    kpm.start(document, interactive=options.get("interactive") is True)
    builtins.input = _no_input
    sys.stdin = io.StringIO("")
    lines = Lines()
    sys.stdout = lines
    said = {}
    try:
        run_file(f"/package/{script}")
    except SystemExit as error:
        from _engine import _exit_words
        from mistletoe import Error
        words = _exit_words(error)
        if words is not None:
            return failure(Error(words).with_traceback(error.__traceback__))
    except kpm.Unanswered as error:
        said["question"] = error.question
    except Exception as error:
        module = _needs_host(error)
        if module is None:
            raise
        # Not a failure yet: the user may allow it.
        said["needsHost"] = module
        said["where"] = failure(error).get("where")
    finally:
        lines.finish()
        sys.stdout = sys.__stdout__
    return _result(before, said)


def _result(before, said):
    import kpm
    from mistletoe import log
    after = _tree()
    changed = {path: content for path, content in after.items() if before.get(path) != content}
    kept = {path: _text(path, content) for path, content in sorted(changed.items()) if path.startswith(MANIFESTS + "/")}
    for path in sorted(set(changed) - set(kept)):
        log.warn(f"{path} was written by the script and is lost: only files in {MANIFESTS}/ are kept")
    said["removed"] = sorted(path for path in before if path not in after and path.startswith(MANIFESTS + "/"))
    said["answered"], said["secretAnswers"] = kpm.answers()
    return {"result": "Ok", "files": kept, "exports": said}
