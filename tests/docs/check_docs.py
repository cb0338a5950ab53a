#!/usr/bin/env python3
"""Checks that the documents are true: check_docs.py MISTCTL SOURCE_DIR

All documents of the tree (DOCUMENTS below) are read for:

* command lines of mistctl, in blocks and in `code`: command, flags, choices and number of arguments must be those that
  `mistctl COMMAND --help` prints. Nothing of them is run here; tests/e2e/test_guides.py runs the guides.
* command lines of mistletoe-catalog: each flag must be one that its command has; docs/catalog-admin.md must have all flags.
* YAML blocks: Kubernetes objects must render, MistPackage documents must go into a module, configurations must be read.
* C blocks with a main function: must compile to a package that renders (left out where clang-19 is missing).
* JSON blocks: must parse.
* blocks after <!-- from: PATH -->: must stand in that file, word for word.
* tables whose last column is `test`: each row names tests, and they must exist. Each row of the threat model (docs/security.md)
  must have one in docs/internals/security-tests.md.
* links, `paths`, names of `file.h`, `make` targets and MIST_ variables: must exist.

The links of the documents that `make install` installs must lead to what is installed, too.

Prints file:line: message for each fault and ends with 1 if there was one, with 2 for wrong usage. Needs nothing but the
standard library.
"""

import concurrent.futures
import functools
import glob
import itertools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "HACKING.md", "SECURITY.md", "docs/**/*.md", "src/**/README.md", "src/cli/commands/*.md",
             "*/README.md", "sdk/*/README.md", "tests/**/README.md", "tools/*/README.md", "third_party/*/README.md")
# A module that is a package and does nothing: memory "memory" and an empty function "_start".
EMPTY_PACKAGE = bytes.fromhex(
    "0061736d01000000" "010401600000" "03020100" "0503010001" "071302066d656d6f72790200065f73746172740000"
    "0a040102000b")
FILE_NAME = re.compile(r"^[\w.-]+\.(h|cc|md|py|sh|rs|go|c|cmake|txt|mjs)$")
PATH = re.compile(r"^[\w.+{},*<>-]+(/[\w.+{},*<>-]*)+$")


class Block:
    def __init__(self, line, language, source):
        self.line, self.language, self.source, self.lines = line, language, source, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def read_document(text):
    """Splits Markdown into blocks of code and (line number, prose) pairs."""
    blocks, prose = [], []
    fence = indented = source = None
    before_blank = True
    for number, line in enumerate(text.split("\n"), 1):
        if fence is not None:
            if line.strip() == "```":
                fence = None
            else:
                fence.lines.append(line)
        elif line.startswith("```"):
            fence = Block(number, line[3:].strip(), source)
            blocks.append(fence)
            indented = source = None
        elif line.startswith("    ") and (before_blank or indented):
            if indented is None:
                indented = Block(number - 1, "", None)
                blocks.append(indented)
            indented.lines.append(line[4:])
        else:
            if line.strip() or indented is None:
                indented = None
            else:
                indented.lines.append("")
            if match := re.match(r"<!-- from: (\S+) -->$", line):
                source = match[1]
            else:
                prose.append((number, line))
        before_blank = not line.strip() or line.startswith(("* ", "- "))
    return blocks, prose


def links(line):
    """Where the links in a line of prose lead."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line))


class Commands:
    """What mistctl's own help says of each command."""

    def __init__(self, run):
        self.run = run

    @functools.lru_cache(maxsize=None)
    def help(self, path):
        result = self.run([*path, "--help-all"])
        return result.stdout if result.returncode == 0 else None

    def find(self, words):
        """The longest path of a command at the beginning of the words; None: there is none."""
        path = []
        for word in itertools.takewhile(lambda word: not word.startswith("-") and not is_placeholder(word), words[:3]):
            path.append(word)
        if not path or path[0] == "help" or self.help((path[0],)) is None:
            return None
        # What isn't a further word of the command is its argument, and the help is that without it.
        while len(path) > 1 and self.help(tuple(path)) in (None, self.help(tuple(path[:-1]))):
            path.pop()
        return tuple(path)

    @functools.lru_cache(maxsize=None)
    def flags(self, path):
        """Each spelling of a flag: (takes a value as its next word, choices)."""
        found, current = {}, None
        for line in (self.help(path) or "").split("\n"):
            match = re.match(r"  (?:-(\w), |    )--([\w-]+)(\[=\w+\]| [A-Z][A-Z=/\[\]]*)?(?:\s|$)", line)
            if match:
                letter, name, value = match.groups()
                current = {"value": bool(value and value.startswith(" ")), "text": line}
                found["--" + name] = current
                if letter:
                    found["-" + letter] = current
            elif current is not None and line.startswith("          "):
                current["text"] += " " + line.strip()
            else:
                current = None
        for flag in found.values():
            choices = re.search(r"\(([\w=…]+(?:\|[\w=…]+)+)[;)]", flag["text"])
            flag["choices"] = choices[1].split("|") if choices else None
            flag["required"] = "(required)" in flag["text"]
        return found

    def arity(self, path):
        """(least, most) positional arguments by the usage line; most None: any number."""
        usage = re.search(r"Usage:\n  mistctl (.*)", self.help(path) or "")
        if usage is None:
            return 0, None
        words = re.sub(r"(?<![\w-])--?[\w-]+ [A-Z=/]+", "", usage[1]).replace("[flags]", "").split()[len(path):]
        words = [word for word in words if re.match(r"\[?[A-Z]", word)]
        least = sum(not word.startswith("[") for word in words)
        return least, None if any("..." in word or "…" in word for word in words) else len(words)


def is_placeholder(word):
    return bool(re.fullmatch(r"\[?[A-Z][A-Z_-]*\]?(\.\.\.|…)?|…|\.\.\.", word))


def simple_commands(line):
    """The simple commands of a shell line, as lists of words, without redirections and comments."""
    line = line.replace("<(", " ; ").replace("$(", " ; ").replace(")", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    words, skip = [], False
    for token in lexer:
        if set(token) <= set("|&;"):
            yield words
            words = []
        elif set(token) <= set("<>"):
            skip = True
        elif skip:
            skip = False
        else:
            words.append(token)
    yield words


def check_command(commands, words, complete):
    """Yields what is wrong with the words after "mistctl". `complete`: as one would type it, nothing left out."""
    words = [word for word in words if word not in ("…", "...")]
    leading = []
    while len(leading) < len(words) and words[len(leading)].startswith("-"):
        flag = commands.flags(("version",)).get(words[len(leading)], {"value": False})
        leading += words[len(leading):len(leading) + 1 + flag["value"]]
    rest = words[len(leading):]
    path = commands.find(rest)
    if path is None:
        if rest and not is_placeholder(rest[0]) and rest[0] != "help":
            yield f'mistctl has no command "{rest[0]}"'
            return
        path, complete = (), False
        rest = [word for word in rest if word.startswith("-")]
    is_group = path and "\nCommands:\n" in commands.help(path)
    if is_group and rest[len(path):] and not is_placeholder(rest[len(path)]):
        yield f'mistctl {" ".join(path)} has no command "{rest[len(path)]}"'
        return
    flags = commands.flags(path or ("version",))
    given, positional, position = set(), 0, len(path)
    words = leading + rest[len(path):]
    position = 0
    while position < len(words):
        word = words[position].strip("[]")
        position += 1
        if word == "--":
            positional += len(words) - position
            break
        if not word.startswith("-") or word == "-":
            positional += 1
            continue
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            name, value = word[:2], word[2:].removeprefix("=")
            equals = "=" if value else ""
            if not flags.get(name, {}).get("value") and value:  # -qy
                words[position:position] = ["-" + letter for letter in value]
                value = equals = ""
        flag = flags.get(name)
        if flag is None:
            yield f'mistctl {" ".join(path)} has no flag {name}'
            continue
        given.add(id(flag))
        if flag["value"] and not equals:
            if position == len(words):
                if complete:
                    yield f'mistctl {" ".join(path)} {name} needs a value'
                continue
            value = words[position]
            position += 1
        if flag["choices"] and value and not is_placeholder(value):
            if not any(value == choice or (choice.endswith("…") and value.startswith(choice[:-1]))
                       for choice in flag["choices"]):
                yield f'mistctl {" ".join(path)} {name} takes {"|".join(flag["choices"])}, not {value}'
    least, most = commands.arity(path) if path else (0, None)
    if most is not None and positional > most:
        yield f'mistctl {" ".join(path)} takes at most {most} arguments, here are {positional}'
    if complete and "-h" not in words and "--help" not in words and "--help-all" not in words:
        if positional < least:
            yield f'mistctl {" ".join(path)} needs {least} arguments, here are {positional}'
        for name, flag in flags.items():
            if flag["required"] and id(flag) not in given and name.startswith("--"):
                yield f'mistctl {" ".join(path)} needs {name}'


def slug(heading):
    """The anchor that GitHub gives to a heading."""
    heading = re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", lambda m: m[1] or "", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


class Checker:
    def __init__(self, mistctl, root):
        self.mistctl, self.root = os.path.abspath(mistctl), pathlib.Path(root).resolve()
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="mist-docs-"))
        self.environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.scratch), "LC_ALL": "C.UTF-8",
                            "MIST_HOME_LOCATION": str(self.scratch / "home"), "KUBECONFIG": str(self.scratch / "none")}
        self.commands = Commands(self.run)
        self.faults, self.checked = [], 0
        listed = subprocess.run(["git", "-C", str(self.root), "ls-files", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, text=True, check=False)
        self.tracked = listed.stdout.split("\n")
        self.names = {os.path.basename(path) for path in self.tracked}
        self.variables = self.known_variables(self.tracked)

    def run(self, arguments, **extra):
        return subprocess.run([self.mistctl, *arguments], capture_output=True, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL, cwd=self.scratch, env={**self.environment, **extra})

    def known_variables(self, tracked):
        known = set()
        for path in tracked:
            if not path.endswith((".cc", ".h", ".sh", ".py", ".go", ".txt", ".cmake", "Makefile", ".c")):
                continue
            try:
                known.update(re.findall(r"\bMIST_[A-Z_]+", (self.root / path).read_text(errors="replace")))
            except OSError:
                continue
        return known

    def fault(self, where, message):
        self.faults.append((where, message))

    def document(self, path):
        relative = path.relative_to(self.root)
        blocks, prose = read_document(path.read_text())
        for block in blocks:
            self.block(relative, block)
        self.test_columns(path, path.read_text())
        self.catalog_lines(relative, path.read_text())
        for number, line in prose:
            where = (str(relative), number)
            for code in re.findall(r"`([^`]+)`", line):
                self.code(where, path, code.strip())
            for target in links(line):
                self.link(where, path, target)

    def block(self, relative, block):
        where = (str(relative), block.line)
        lines = block.text.replace("\\\n", "  ").split("\n")
        for offset, line in enumerate(lines):
            if not re.search(r"(^|[\s(;|])mistctl ", line) or block.language not in ("", "sh", "console", "bash"):
                continue
            prompt = re.match(r"\s*\$ ", line)
            if "$ " in block.text and not prompt:
                continue  # output in a transcript
            self.shell_line((str(relative), block.line + 1 + offset), re.sub(r"^\s*\$ ", "", line))
        if block.source:
            self.quotation(where, block)
        if block.language == "json":
            self.checked += 1
            try:
                json.loads(block.text)
            except ValueError as failure:
                self.fault(where, f"this is not JSON: {failure}")
        elif block.language == "yaml" or (not block.language and re.match(r"apiVersion: \S", block.text)):
            self.yaml(where, block.text)
        elif block.language == "c" and "int main(" in block.text:
            self.c_program(where, block.text)

    def shell_line(self, where, line):
        line = re.sub(r"\s#\s.*$|(?<=\S)\s{3,}.*$", "", line)  # remarks beside it
        try:
            found = list(simple_commands(line))
        except ValueError:
            return  # a word of prose with an apostrophe
        for words in found:
            while words and re.fullmatch(r"\w+=.*", words[0]):
                words.pop(0)
            if not words or os.path.basename(words[0]) != "mistctl":
                continue
            self.checked += 1
            for message in check_command(self.commands, words[1:], complete=True):
                self.fault(where, message)

    def quotation(self, where, block):
        self.checked += 1
        source = self.root / block.source
        if not source.exists():
            self.fault(where, f"{block.source} does not exist")
        elif block.text.strip() not in source.read_text():
            self.fault(where, f"this does not stand in {block.source} word for word")

    def yaml(self, where, text):
        first = re.search(r"^apiVersion: *(\S+)", text, re.M)
        kind = re.search(r"^kind: *(\S+)", text, re.M)
        if not first or not kind:
            return
        name = f"{where[0].replace('/', '-')}-{where[1]}"
        file = self.scratch / f"{name}.yaml"
        file.write_text(text)
        if kind[1] == "MistPackage":
            (self.scratch / f"{name}.wasm").write_bytes(EMPTY_PACKAGE)
            result = self.run(["package", "build", f"{name}.wasm", "-m", file.name, "-o", f"{name}.built"])
        elif kind[1] == "MistletoeConfig":
            result = self.run(["config", "view"], MIST_CONFIG_LOCATION=str(file))
        elif first[1].startswith("mistletoe.dev/"):
            return
        else:
            result = self.run(["generate", "example", "-p", f"./{file.name}"])
        self.checked += 1
        if result.returncode != 0:
            self.fault(where, f"mistctl refuses this {kind[1]}: {result.stderr.strip()}")

    def c_program(self, where, text):
        if shutil.which("clang-19") is None:
            return
        self.checked += 1
        name = f"{where[0].replace('/', '-')}-{where[1]}"
        (self.scratch / f"{name}.c").write_text(text)
        built = subprocess.run(["clang-19", "--target=wasm32-wasi", "-O1", "-Wall", "-Werror", f"{name}.c", "-o",
                                f"{name}.wasm"], cwd=self.scratch, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            return self.fault(where, f"this does not compile: {built.stderr.strip()}")
        rendered = self.run(["generate", "example", "-p", f"./{name}.wasm"])
        if rendered.returncode != 0:
            self.fault(where, f"this package does not render: {rendered.stderr.strip()}")
        elif "name: example" not in rendered.stdout:
            self.fault(where, f"this package ignores its input: {rendered.stdout.strip()}")

    def code(self, where, path, code):
        if code.startswith("mistctl "):
            self.checked += 1
            try:
                words = next(simple_commands(code))
            except ValueError:
                return
            for message in check_command(self.commands, words[1:], complete=False):
                self.fault(where, message)
        elif match := re.fullmatch(r"make ([\w-]+)", code):
            self.checked += 1
            makefile = self.root / "Makefile"
            if makefile.exists() and not re.search(rf"^{re.escape(match[1])}:", makefile.read_text(), re.M):
                self.fault(where, f"the Makefile has no target {match[1]}")
        elif PATH.match(code):
            self.path(where, path, code)
        elif FILE_NAME.match(code) and "NAME" not in code:
            self.checked += 1
            if code not in self.names and not (self.root / code).exists() and not self.is_example(code):
                self.fault(where, f"there is no file {code}")
        for variable in re.findall(r"\bMIST_[A-Z_]+", code):
            self.checked += 1
            if variable not in self.variables:
                self.fault(where, f"nothing reads {variable}")

    @staticmethod
    def is_example(name):
        """Files that users have, not we."""
        return name.startswith(("app.", "values.", "hello.", "web.", "mistletoe."))

    def path(self, where, document, code):
        """A path whose first part is a folder of ours must exist; others are examples."""
        first = code.split("/")[0]
        bases = [base for base in (self.root, self.root / "src", document.parent) if (base / first).is_dir()]
        # "greet" is the command of the recipe in src/cli/README.md.
        if first in (".", "..", "build") or "results/" in code or "greet" in code or not bases:
            return
        self.checked += 1
        for spelled in self.expand(re.sub(r"<[^>]*>|NAME", "*", code)):
            if not any(glob.glob(str(base / spelled)) for base in bases) and not self.is_end_of_a_path(spelled):
                self.fault(where, f"there is no {spelled}")

    def is_end_of_a_path(self, spelled):
        return any(path.endswith("/" + spelled) for path in self.tracked)

    @staticmethod
    def expand(text):
        """a.{h,cc} → a.h, a.cc"""
        match = re.search(r"\{([^{}]*)\}", text)
        if not match:
            return [text]
        return [expanded for part in match[1].split(",")
                for expanded in Checker.expand(text[:match.start()] + part + text[match.end():])]

    @functools.cached_property
    def tests(self):
        """The names of all tests, of unit tests without their suite."""
        names = set()
        for path in self.root.glob("src/**/*_test.cc"):
            names |= set(re.findall(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\(\w+,\s*(\w+)\)", path.read_text(), re.M))
        for path in self.root.glob("tests/e2e/test_*.py"):
            names |= set(re.findall(r"^@test\b.*\ndef (\w+)\(", path.read_text(), re.M))
        return names

    @functools.cached_property
    def catalog_flags(self):
        """The commands of each flag of mistletoe-catalog, as its table has them: "" for all."""
        source = self.root / "src/main/catalog_line.cc"
        text = source.read_text() if source.exists() else ""
        return {"--help": "", "--version": "", **dict(re.findall(r'Flag\{"(--[a-z-]+)", \w+, "([a-z ]*)"\}', text))}

    def catalog_lines(self, relative, text):
        """Command lines of mistletoe-catalog, in blocks and in `code`, also those that go on in the next line."""
        if len(self.catalog_flags) == 2:
            return
        commands = {command for words in self.catalog_flags.values() for command in re.findall(r"serve|worker|(?:user|token) \w+", words)}
        known = "|".join(sorted(commands | {"user", "token", "backup", "restore"}, key=len, reverse=True))
        for line in re.finditer(rf"mistletoe-catalog ({known})\b((?:\\\n|[^\n`#])*)", text):
            where = (str(relative), text.count("\n", 0, line.start()) + 1)
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line[2]):
                self.checked += 1
                if flag not in self.catalog_flags:
                    self.fault(where, f"mistletoe-catalog has no flag {flag}")
                elif self.catalog_flags[flag] and line[1] not in self.catalog_flags[flag]:
                    self.fault(where, f"mistletoe-catalog {line[1]} has no flag {flag}")

    def undocumented_catalog_flags(self):
        page = self.root / "docs/catalog-admin.md"
        text = page.read_text() if page.exists() else ""
        for flag in self.catalog_flags if text else ():
            self.checked += 1
            if not re.search(rf"`[^`]*{flag}[ `]", text):
                self.fault(("docs/catalog-admin.md", 1), f"says nothing of the flag {flag}")

    def test_column(self, where, cell):
        named = re.findall(r"`(\w+)`", cell)
        if not named:
            self.fault(where, "names no test")
        for name in named:
            self.checked += 1
            if name not in self.tests:
                self.fault(where, f"there is no test {name}")

    def test_columns(self, path, text):
        """Of tables whose last column is `test`."""
        inside = False
        for number, line in enumerate(text.split("\n"), 1):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
            if cells and cells[-1] == "test":
                inside = True
            elif not cells:
                inside = False
            elif inside and not re.match(r"^:?-+:?$", cells[-1]):
                self.test_column((str(path.relative_to(self.root)), number), cells[-1])

    @staticmethod
    def first_cells(path):
        """(line number, first cell) of each row below a heading "they try to"."""
        inside = False
        for number, line in enumerate(path.read_text().split("\n"), 1):
            cell = line.strip("| ").split(" | ")[0].strip() if line.startswith("|") else None
            if cell is not None and inside and not re.match(r"^:?-+", cell):
                yield number, cell
            inside = cell is not None and (inside or cell == "they try to")

    def threats(self):
        """What the threat model says that holds is tested."""
        model, proof = self.root / "docs/security.md", self.root / "docs/internals/security-tests.md"
        if not model.exists():
            return
        proven = {cell for _, cell in self.first_cells(proof)} if proof.exists() else set()
        for number, cell in self.first_cells(model):
            self.checked += 1
            if cell not in proven:
                self.fault(("docs/security.md", number), f'docs/internals/security-tests.md has no row "{cell}"')

    def link(self, where, document, target):
        if re.match(r"[a-z]+:", target):
            return
        self.checked += 1
        file, _, anchor = target.partition("#")
        linked = (document.parent / file).resolve() if file else document
        if not linked.exists():
            return self.fault(where, f"the link leads to {file}, which does not exist")
        if anchor and linked.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.M)
            if anchor not in map(slug, headings):
                self.fault(where, f"{file or linked.name} has no heading for #{anchor}")

    def installed(self, directory):
        """The links of the documents below it, which `make install` wrote."""
        for path in sorted(directory.rglob("*.md")):
            for number, line in read_document(path.read_text())[1]:
                for target in links(line):
                    self.link((f"(installed) {path.relative_to(directory)}", number), path, target)

    def all(self):
        documents = {path for pattern in DOCUMENTS for path in self.root.glob(pattern)}
        for required in ("README.md", "ARCHITECTURE.md", "HACKING.md"):
            if not (self.root / required).exists():
                self.fault((required, 1), "is missing")
        try:
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                list(pool.map(self.document, sorted(documents)))
            self.threats()
            self.undocumented_catalog_flags()
            subprocess.run([self.root / "tools/installed_docs.py", self.scratch / "installed"], check=True)
            self.installed(self.scratch / "installed")
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
        return len(documents)


def main(arguments):
    if len(arguments) != 2 or not os.access(arguments[0], os.X_OK) or not os.path.isdir(arguments[1]):
        print("usage: check_docs.py MISTCTL SOURCE_DIR", file=sys.stderr)
        return 2
    checker = Checker(*arguments)
    documents = checker.all()
    for (file, line), message in sorted(set(checker.faults)):
        print(f"{file}:{line}: {message}")
    print(f"{documents} documents, {checker.checked} statements checked, {len(set(checker.faults))} wrong")
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
