"""Compiles the modules of the engine into one table in C: freeze.py OUTPUT ROOT...

OUTPUT/frozen.bin holds them one behind the other, OUTPUT/frozen.h the table `kFrozen`. A ROOT is a directory of modules and packages,
or NAME=DIRECTORY for a package of that name; of two modules of one name the first wins. Of the standard library (a ROOT that ends in
/Lib) only what works without processes, threads, the network and a screen is taken. The interpreter that runs this decides the format,
so it is of the same version as the one that reads it.
"""
import marshal
import os
import sys

# What can't work in the sandbox, or nobody misses there.
LEFT_OUT = frozenset(
    "__hello__ __phello__ _aix_support _android_support _apple_support _ios_support _osx_support _pyrepl antigravity asyncio asyncore bdb cProfile "
    "code codeop concurrent ctypes curses dbm distutils doctest ensurepip ftplib idlelib imaplib lib2to3 mailbox msilib multiprocessing "
    "nturl2path pdb pip poplib profile pstats pty pydoc pydoc_data rlcompleter sched site-packages smtplib socket socketserver sqlite3 ssl "
    "subprocess tabnanny telnetlib test tests this tkinter trace tracemalloc tty turtle turtledemo venv webbrowser wsgiref xmlrpc zipapp "
    "__pycache__".split())


def modules_of(root, prefix=""):
    """Name, path and whether it is a package, for each module below a directory."""
    left_out = LEFT_OUT if os.path.basename(root) == "Lib" else {"__pycache__"}
    for directory, inner, files in os.walk(root):
        inner[:] = sorted(each for each in inner if each not in left_out)
        parts = os.path.relpath(directory, root).split(os.sep)
        package = ".".join([prefix] * bool(prefix) + [each for each in parts if each != "."])
        if package and "__init__.py" not in files:
            inner.clear()
            continue
        for file in sorted(files):
            name, ending = os.path.splitext(file)
            if ending != ".py" or name == "__main__" or (directory == root and name in left_out):
                continue
            if name == "__init__":
                if package:
                    yield package, os.path.join(directory, file), True
            else:
                yield f"{package}.{name}" if package else name, os.path.join(directory, file), False


def compiled(name, path, is_package):
    with open(path, "rb") as file:
        source = file.read()
    shown = "<python>/" + name.replace(".", "/") + ("/__init__.py" if is_package else ".py")
    # Without assertions and docstrings; the engine's own need neither.
    return marshal.dumps(compile(source, shown, "exec", dont_inherit=True, optimize=2))


def main():
    output, *roots = sys.argv[1:]
    modules = {}
    for root in roots:
        prefix, _, directory = root.rpartition("=")
        for name, path, is_package in modules_of(directory, prefix):
            modules.setdefault(name, (path, is_package))
    blob, rows = bytearray(), []
    for name, (path, is_package) in sorted(modules.items()):
        code = compiled(name, path, is_package)
        rows.append(f'    {{"{name}", kCode + {len(blob)}, {len(code)}, {int(is_package)}}},\n')
        blob += code
    with open(os.path.join(output, "frozen.bin"), "wb") as file:
        file.write(blob)
    with open(os.path.join(output, "frozen.h"), "w") as file:
        file.write('static const unsigned char kCode[] = {\n#embed "frozen.bin"\n};\n')
        file.write("static const struct _frozen kFrozen[] = {\n" + "".join(rows) + "    {0}};\n")
    print(f"{len(rows)} modules, {len(blob)} bytes")


main()
