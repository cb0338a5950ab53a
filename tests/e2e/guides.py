"""Runs what a document shows, in the order in which it stands there.

* ```console: each line that begins with "$ " is run in bash; the lines below it are what it prints on both outputs. A line
  "error: …" among them, or the remark "# exit code 1" beside the command, means that it has to fail. Of what is printed,
  lines of progress are left out that depend on the machine ("… ", "waiting"); ages, times and lengths of runs of blanks may
  differ; `…` stands for any text, and a line of nothing else for any lines. The directory is shown as /home/you.
* ```sh: the lines are run as one script, which must succeed; what it prints is of no matter.
* any block after <!-- file: PATH -->: is written to that file.
* <!-- meanwhile: NAME --> before a block: its one command runs in the background, as in a second terminal.
* <!-- ended: NAME --> before a block: that command is stopped first, as by Ctrl-C, and has to end well.
* <!-- not run: WHY --> before a block: it is left alone.

MIST_ACCEPT=1 rewrites what the console blocks show. Read the diff.
"""
import os
import pathlib
import re
import shlex
import subprocess

from harness import check

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = "/home/you"  # what documents call the directory in which they are run
MARKER = re.compile(r"<!-- (file|meanwhile|ended|not run): (.*) -->$")
PROGRESS = re.compile(r"^… |: waiting \(|: deleting$")
# What differs from run to run, and what stands for it while lines are compared.
CHANGING = ((re.compile(r"\b\d+(\.\d+)?(ms|s)\b"), "0s"), (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?"), "TIME"),
            (re.compile(r"(?<=-)[0-9a-z]{5,10}(-[0-9a-z]{5})?\b(?=[:,\s]|$)"), "HASH"), (re.compile(r"\s+"), " "))


class Block:
    def __init__(self, line, language, marker):
        self.line, self.language, self.marker, self.lines = line, language, marker, []

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def blocks(path):
    """The fenced blocks of a document."""
    found, current, marker = [], None, None
    for number, line in enumerate(path.read_text().split("\n"), 1):
        if current is not None:
            if line.strip() == "```":
                current = None
            else:
                current.lines.append(line)
        elif line.startswith("```"):
            current = Block(number, line[3:].strip(), marker)
            found.append(current)
            marker = None
        elif match := MARKER.match(line):
            marker = (match[1], match[2])
    return found


def comparable(line):
    line = line.strip()
    for pattern, stand_in in CHANGING:
        line = pattern.sub(stand_in, line)
    return line


def printed(text):
    """The lines of an output that are worth showing."""
    return [line.rstrip() for line in text.rstrip("\n").split("\n") if not PROGRESS.search(line)] if text else []


def is_like(shown, line):
    pattern = ".*".join(re.escape(comparable(part)) for part in shown.split("…"))
    return re.fullmatch(pattern, comparable(line)) is not None


def differences(shown, actual):
    """Lines that only one of the two has; objects are written at once, so their order doesn't matter."""
    rest, problems = [line for line in actual if line], []
    for line in (line for line in shown if line.strip() not in ("", "…")):
        match = next((other for other in rest if is_like(line, other)), None)
        if match is None:
            problems.append(f"- {line}")
        else:
            rest.remove(match)
    return problems + ([] if "…" in shown else [f"+ {line}" for line in rest])


class Guide:
    """One document, run in a directory of its own."""

    def __init__(self, t, document):
        self.t, self.path = t, ROOT / document
        self.directory = t.dir / "guide"
        self.directory.mkdir(exist_ok=True)
        self.programs = t.dir / "programs"
        self.programs.mkdir(exist_ok=True)
        (self.programs / "mistctl").symlink_to(t.mistctl)
        operator = pathlib.Path(t.mistctl).with_name("mistletoe-operator")
        self.program("mistletoe-operator", f'exec {shlex.quote(str(operator))} "$@"')
        self.background = {}
        self.program("kubectl", f'exec {shlex.quote(t.devcluster)} kubectl --dir {shlex.quote(str(t.cluster_directory))} "$@"')

    def program(self, name, script):
        target = self.programs / name
        target.write_text(f"#!/bin/sh\n{script}\n")
        target.chmod(0o755)

    def shell(self, script, directory=None, options=(), **environment):
        """(exit code, both outputs)"""
        done = subprocess.run(["bash", "--noprofile", "--norc", *options, "-c", script], cwd=directory or self.directory,
                              env={**self.environment(), **environment},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        return done.returncode, done.stdout

    def environment(self):
        base = self.t.environment()
        return {**base, "PATH": f"{self.programs}:{base['PATH']}"}

    def start(self, name, command):
        """Runs one command until end(name), or the end of the test."""
        with (self.t.dir / f"{name}.log").open("wb") as log:
            self.background[name] = subprocess.Popen(["bash", "--noprofile", "--norc", "-c", "exec " + command], cwd=self.directory,
                                                     env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.t.cleanup(lambda: self.end(name))

    def end(self, name):
        """The exit code."""
        self.background[name].terminate()
        return self.background[name].wait(timeout=30)

    def file(self, name, text, directory=None):
        target = (directory or self.directory) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def files(self):
        """{PATH: text} of the document's files."""
        return {block.marker[1]: block.text for block in blocks(self.path) if block.marker and block.marker[0] == "file"}

    def run(self, before=None):
        """All of it. `before(block)` is called before each block that is run."""
        problems, accepted = [], {}
        for block in blocks(self.path):
            if block.marker and block.marker[0] == "not run":
                continue
            if before:
                before(block)
            marker, name = block.marker or (None, None)
            if marker == "ended":
                code = self.end(name)
                check(code == 0, f"{self.path.name}:{block.line} {name} ends with {code}:\n{(self.t.dir / f'{name}.log').read_text()}")
            if marker == "file":
                self.file(name, block.text)
            elif marker == "meanwhile":
                self.start(name, block.text)
            elif block.language == "sh":
                code, output = self.shell(block.text, options=["-e"])
                check(code == 0, f"{self.path.name}:{block.line} ends with {code}:\n{output}")
            elif block.language == "console":
                problems += self.console(block, accepted)
        if os.environ.get("MIST_ACCEPT") == "1":
            self.accept(accepted)
        else:
            check(not problems, "\n".join(problems))

    def console(self, block, accepted):
        problems, lines, kept = [], block.lines, []
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in zip(starts, starts[1:] + [len(lines)]):
            shown = lines[start + 1:end]
            code, output = self.shell(lines[start][2:])
            actual = printed(output.replace(str(self.directory), HOME))
            wrong = differences(shown, actual)
            should_fail = lines[start].endswith("# exit code 1") or any(line.startswith("error: ") for line in shown)
            if not wrong and (code != 0) != should_fail:
                wrong = [f"the exit code is {code}"]
            if wrong:
                problems.append(f"{self.path.name}:{block.line + 1 + start}: {lines[start]}\n  " + "\n  ".join(wrong))
            kept += [lines[start], *(actual if wrong else shown)]
        accepted[block.line] = kept
        return problems

    def accept(self, accepted):
        result, skip = [], False
        for number, line in enumerate(self.path.read_text().split("\n"), 1):
            if skip and line.strip() == "```":
                skip = False
            if not skip:
                result.append(line)
            if number in accepted:
                result += accepted[number]
                skip = True
        self.path.write_text("\n".join(result))
