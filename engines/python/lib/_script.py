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
    failed = None
    try:
        run_file(f"/package/{script}")
    except BaseException as error:
        failed = error
    finally:
        lines.finish()
        sys.stdout = sys.__stdout__
    if kpm.open_question() is not None:
        said["question"] = kpm.open_question()
    elif isinstance(failed, SystemExit):
        from _engine import _exit_words
        from mistletoe import Error
        words = _exit_words(failed)
        if words is not None:
            return failure(Error(words).with_traceback(failed.__traceback__))
    elif failed is not None:
        module = _needs_host(failed)
        if module is None:
            raise failed
        # Not a failure yet: the user may allow it.
        said["needsHost"] = module
        said["where"] = failure(failed).get("where")
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
