"""The engine's own part in Python: what guest.c calls.

`prepare` imports what packages use; the host keeps the memory afterwards, so nothing here may depend on an input, the clock or the seed.
`generate` reads the input document from standard input and writes one result to standard output:

    a package           runs /package/main.py, and its function `generate` if it has one; else what it printed is the result
    options.inspect     runs main.py too, and answers with the schema of the inputs of `generate`
    options.script      runs that file of a Kube (lib/kpm.py), and answers with the manifests that it wrote
"""
import builtins
import gc
import importlib.machinery
import io
import itertools
import json
import os
import random
import sys
import traceback
import types

import _lines
import _values

PACKAGE = "/package"
VENDORED = PACKAGE + "/vendor"
MAIN = PACKAGE + "/main.py"
# The host's name for the file of all that a program printed.
PRINTED = "stdout.yaml"

# Modules of Python that need what the sandbox doesn't have.
HOST_ONLY = frozenset("_ctypes _posixsubprocess _socket _ssl asyncio concurrent ctypes fcntl ftplib grp imaplib mmap multiprocessing nntplib "
                      "poplib pty pwd readline requests resource smtplib socket socketserver ssl subprocess syslog telnetlib "
                      "termios tkinter tty xmlrpc".split())
# Functions of os that WASI's lacks, and programs call.
HOST_FUNCTIONS = frozenset("execl execle execlp execv execve execvp fork forkpty kill killpg openpty pipe popen posix_spawn setuid spawnl "
                           "spawnv spawnve symlink system wait waitpid".split())
NOT_THERE = "processes, threads or the network, and a package has none"


# Modules that this Python is built without, for want of a library in C.
NOT_BUILT = frozenset("_bz2 _curses _lzma _sqlite3 curses dbm sqlite3 zlib".split())


class NeedsHost(ModuleNotFoundError):
    """A module that works only in a Python outside of the sandbox."""


# What people know it as.
NeedsHost.__qualname__ = NeedsHost.__name__ = "ModuleNotFoundError"
NeedsHost.__module__ = "builtins"


class _HostOnly:
    """The last finder: what nobody else has."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        del path, target
        top = name.partition(".")[0]
        if top in HOST_ONLY:
            raise NeedsHost(f"no module named '{name}': it needs {NOT_THERE}", name=name)
        if top in NOT_BUILT:
            raise NeedsHost(f"no module named '{name}': the Python of packages is built without it", name=name)


def _make_random_lazy():
    """The functions of `random` share a generator. It is seeded when one of them is first called, so that a package that doesn't call
    any draws nothing, and one that does draws from the release's seed."""
    class Shared(random.Random):
        is_seeded = True

        def seed(self, *arguments, **named):
            self.is_seeded = True
            super().seed(*arguments, **named)

        def _start(self):
            if not self.is_seeded:
                self.seed()

        def random(self):
            self._start()
            return super().random()

        def getrandbits(self, k):
            self._start()
            return super().getrandbits(k)

        def getstate(self):
            self._start()
            return super().getstate()

        def setstate(self, state):
            self.is_seeded = True
            super().setstate(state)

    shared = Shared(0)
    shared.is_seeded = False
    shared.gauss_next = None
    for name in dir(random):
        if isinstance(getattr(getattr(random, name), "__self__", None), random.Random):
            setattr(random, name, getattr(shared, name))
    random._inst = shared


def prepare():
    _make_random_lazy()
    # What packages use.
    import abc, argparse, base64, binascii, bisect, calendar, codecs, collections, configparser, contextlib, copy, csv, dataclasses  # noqa
    import datetime, decimal, difflib, enum, fnmatch, fractions, functools, glob, hashlib, heapq, hmac, html, inspect, ipaddress  # noqa
    import itertools, linecache, locale, logging, math, operator, pathlib, pprint, re, secrets, shutil, stat, statistics, string  # noqa
    import struct, tempfile, textwrap, time, tomllib, typing, urllib.parse, uuid, zipfile, _strptime  # noqa
    import _colorize, jinja2, jinja2.sandbox, markupsafe, yaml  # noqa
    import kpm, mistletoe  # noqa
    environment = kpm.new_environment()
    environment.from_string("{% macro m(a) %}{{ a|upper }}{% endmacro %}{% for i in x %}{{ m(i)|default('')|indent }}{% endfor %}").render(x=["a"])
    yaml.safe_dump(yaml.safe_load("a: [1, {b: c}]\nd: |\n  x\n"))
    _values.read("a: 1")
    json.dumps(json.loads('{"a": [1, 2.5, "x", null]}'), indent=2)
    datetime.datetime.strptime("2026-01-01", "%Y-%m-%d")
    sys.meta_path.append(_HostOnly)
    # Standard error is no terminal, whatever WASI says of it.
    _colorize.COLORIZE = False
    gc.collect()
    gc.freeze()


# Where a package failed.

_entry = None
"""The place of what runs, for what is wrong with all of it: the file, and then the line of its `generate`."""


def _file_in_package(name):
    return name.removeprefix(PACKAGE + "/") if name.startswith(PACKAGE + "/") else None


def _frames(error):
    """File, line and column of the package's own frames, the outermost first."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        code, line = trace.tb_frame.f_code, trace.tb_lineno
        file = _file_in_package(code.co_filename)
        # A function that calls itself is one place.
        if file is not None and line is not None and (not found or found[-1][:2] != (file, line)):
            found.append((file, line, _column(code, trace.tb_lasti, file, line)))
        trace = trace.tb_next
    return found


def _column(code, instruction, file, line):
    """Where in its line an instruction begins; None: the compiler didn't keep it."""
    first, _, offset, _ = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    text = _text_of(file, line)
    if first != line or offset is None or text is None:
        return None
    # The compiler counts bytes, people count characters.
    return len(text.encode()[:offset].decode(errors="ignore")) + 1


def _text_of(file, line):
    try:
        with open(f"{PACKAGE}/{file}", encoding="utf-8", errors="replace") as opened:
            return opened.read().split("\n")[line - 1].rstrip("\r")
    except (OSError, ValueError, IndexError):
        return None


def _place(file, line, column=None):
    place = {"file": file, "line": line}
    if column is not None and column > 0:
        place["column"] = column
    text = _text_of(file, line)
    if text is not None:
        place["text"] = text
    return place


def needs_host(error):
    """What an error wants of the host's Python: "subprocess", "os.system"; None: nothing."""
    if isinstance(error, NeedsHost):
        return error.name
    if isinstance(error, AttributeError) and error.obj is os and error.name in HOST_FUNCTIONS:
        return f"os.{error.name}"
    return None


def _words(error):
    from mistletoe._errors import reason
    if isinstance(error, AttributeError) and needs_host(error):
        return f"AttributeError: a package has no {needs_host(error)}"
    if isinstance(error, MemoryError) and not str(error):
        return "MemoryError: it needs more memory than it may have"
    return reason(error)


def failure(error):
    """`data` of a result: the error's words, and the innermost line of the package that was at work."""
    from mistletoe._errors import Error
    data = {"result": "Err", "message": _words(error)}
    frames = _frames(error)
    if isinstance(error, SyntaxError) and _file_in_package(error.filename or "") and error.lineno:
        data["message"] = f"{type(error).__qualname__}: {error.msg}"
        data["where"] = _place(_file_in_package(error.filename), error.lineno, error.offset)
    elif frames:
        data["where"] = _place(*frames[-1])
        if len(frames) > 1 and not isinstance(error, Error):
            data["message"] += "\ncalled from " + ", ".join(f"{file}:{line}" for file, line, _ in reversed(frames[-6:-1]))
    elif _entry is not None:
        data["where"] = _entry
    if not isinstance(error, Error):
        traceback.print_exception(type(error), error, _without_engine(error.__traceback__))
    return data


def _failure_of_any(error):
    """The same of an error that a package made, whose own code may fail."""
    try:
        return failure(error)
    except Exception:
        frames = _frames(error)
        data = {"result": "Err", "message": f"{type(error).__qualname__}, whose text can't be read"}
        return {**data, "where": _place(*frames[-1])} if frames else data


def _without_engine(trace):
    while trace is not None and _file_in_package(trace.tb_frame.f_code.co_filename) is None:
        trace = trace.tb_next
    return trace


# Running files of the package.


class Lines(io.TextIOBase):
    """Standard output of a function that gives its result otherwise: each line is one for the user."""

    def __init__(self):
        self._pending = ""

    def writable(self):
        return True

    def write(self, text):
        from mistletoe import log
        *lines, self._pending = (self._pending + text).split("\n")
        for line in lines:
            log.info(line)
        return len(text)

    def finish(self):
        if self._pending:
            self.write("\n")


def _use_own_modules():
    """A module of the package comes before one of Python with the same name, as where Python runs a script."""
    sys.path[:] = [PACKAGE, VENDORED]
    finder = importlib.machinery.PathFinder
    sys.meta_path[:] = [each for each in sys.meta_path if each is not finder]
    sys.meta_path.insert(1, finder)
    for directory in sys.path:
        for entry in os.listdir(directory) if os.path.isdir(directory) else ():
            name = entry.removesuffix(".py")
            # Those that an engine is made of can't be replaced under it.
            if name not in sys.modules or name in ("mistletoe", "kpm", "os", "sys", "io", "main") or name in sys.builtin_module_names:
                continue
            if entry.endswith(".py") or os.path.exists(f"{directory}/{entry}/__init__.py"):
                for loaded in [each for each in sys.modules if each == name or each.startswith(name + ".")]:
                    del sys.modules[loaded]


def _run_file(path):
    """Runs a file as Python runs a script, and gives its module."""
    global _entry
    _entry = {"file": _file_in_package(path)}
    os.chdir(PACKAGE)
    _use_own_modules()
    sys.argv = [path]
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    if path == MAIN:
        sys.modules["main"] = module
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


def _exit_words(error):
    """Why a program ended itself; None: it was content."""
    if error.code is None or error.code == 0:
        return None
    return error.code if isinstance(error.code, str) else f"the program ended itself with the exit code {error.code}"


class _Printed(io.BytesIO):
    """Standard output of a program without `generate`. It stays readable when the program closes it."""

    def close(self):
        pass


def _run_main():
    """The module, what it printed, and the stream that it printed to."""
    if not os.path.exists(MAIN):
        from mistletoe import Error
        raise Error("the package has no main.py")
    printed = _Printed()
    sys.stdout = stream = _lines.Printed(printed, _file_in_package)
    module = types.ModuleType("__main__")
    try:
        module = _run_file(MAIN)
    except SystemExit as error:
        words = _exit_words(error)
        if words is not None:
            from mistletoe import Error
            raise Error(words).with_traceback(error.__traceback__) from None
    finally:
        sys.stdout = sys.__stdout__
    return module, printed.getvalue(), stream


def _as_text(printed):
    try:
        return printed.decode()
    except UnicodeDecodeError as error:
        from mistletoe import Error
        line = printed.count(b"\n", 0, error.start) + 1
        raise Error(f"main.py printed what isn't text in UTF-8, in line {line} of its output") from None


def _generate_function(module):
    global _entry
    function = getattr(module, "generate", None)
    code = getattr(function, "__code__", None)
    if code is not None and _file_in_package(code.co_filename) is not None:
        _entry = _place(_file_in_package(code.co_filename), code.co_firstlineno)
    return function if callable(function) else None


def _render(document):
    from mistletoe import Error, render
    module, printed, stream = _run_main()
    function = _generate_function(module)
    if function is None:
        if not printed.strip():
            raise Error("main.py has no function generate, and printed nothing: define generate(inputs), or print Kubernetes YAML")
        return _printed_result(_as_text(printed), stream)
    lines = Lines()
    lines.write(printed.decode(errors="replace"))
    sys.stdout = lines
    try:
        output = render(function, document)
    except SystemExit as error:
        raise Error(_exit_words(error) or "the program ended itself before generate gave its Output").with_traceback(
            error.__traceback__) from None
    finally:
        lines.finish()
        sys.stdout = sys.__stdout__
    return {**output.data(), **_origins_of_files(output)}


def _printed_result(text, stream):
    """The result of a program that printed a MistResult, or Kubernetes YAML."""
    # The host takes text with these words for a document of its own.
    if "Mist" in text and "mistletoe.dev/" in text:
        return text
    return {"result": "Ok", "files": {PRINTED: text}, "origins": {PRINTED: stream.origins(text)}}


def _origins_of_files(output):
    """Where each file was handed over, as far as that was in the package."""
    places = {path: (_file_in_package(file), line) for path, (file, line) in output.places.items()}
    return {"origins": {path: _lines.origins_of([place] * (output.files[path].count("\n") + 1))
                        for path, place in places.items() if place[0] is not None}}


def _may_have_generate():
    """False: main.py surely defines no `generate`. It is then a program that works when it is run, so nobody runs it to see its inputs."""
    with open(MAIN, "rb") as file:
        code = compile(file.read(), MAIN, "exec", dont_inherit=True)
    return "generate" in code.co_names or ("*",) in code.co_consts


def _describe():
    from mistletoe._inputs import inputs_class, schema_of
    schema = None
    if not os.path.exists(MAIN) or _may_have_generate():
        module, _, _ = _run_main()
        function = _generate_function(module)
        declared = None if function is None else inputs_class(function)
        schema = None if declared is None else schema_of(declared)
    return {"result": "Ok", "package": {"maintainers": [], "inputs": schema}}


def _answer(document):
    document["data"] = _values.overlay(_values.defaults(PACKAGE), document.get("data") or {})
    options = (document.get("engine") or {}).get("options") or {}
    if isinstance(options.get("script"), str):
        import _script
        return _script.run(options["script"], options, document, _run_file)
    # A program without `generate` may read the document itself.
    sys.stdin = io.StringIO(json.dumps(document))
    return _describe() if options.get("inspect") is True else _render(document)


def generate():
    with open(0, "rb", closefd=False) as stdin:
        text = stdin.read().decode()
    from mistletoe._output import result_document
    try:
        answer = _answer(json.loads(text))
        written = answer if isinstance(answer, str) else result_document(answer)
    except BaseException as error:
        sys.stdout = sys.__stdout__
        written = result_document(_failure_of_any(error))
    try:
        data = written.encode()
    except UnicodeEncodeError:
        data = result_document({"result": "Err", "message": "the output holds half of a surrogate pair, which is no text"}).encode()
    sys.stderr.flush()
    view = memoryview(data)
    while view:
        view = view[os.write(1, view[:1 << 20]):]


builtins.exit = builtins.quit = os._exit = sys.exit
