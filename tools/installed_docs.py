#!/usr/bin/env python3
"""Writes the documentation that `make install` installs: installed_docs.py DESTINATION

Its files lie as in the sources, so that links between them work. A link to a file of the sources that isn't installed would lead
nowhere: its text and the path of that file are written instead. tests/docs/check_docs.py checks the links of the result.
"""
import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ("docs/**/*", "schemas/**/*", "examples/**/*", "README.md", "ARCHITECTURE.md", "HACKING.md", "SECURITY.md", "packages/README.md",
         "packages/*/README.md", "sdk/*/README.md")
# Code first, in which brackets are no links; the text of a link may hold code itself.
LINK = re.compile(r"^```.*?^```|`[^`\n]*`|\[((?:[^][`]|`[^`]*`)*)\]\(([^)\s]+)\)", re.M | re.S)


def with_installed_links(document, text, installed):
    def link(found):
        label, address = found[1], found[2]
        if address is None:
            return found[0]
        target = os.path.normpath(document.parent / address.partition("#")[0])
        # An address of the web, or an anchor of the document itself, is no other file of the sources.
        if target in installed or not (ROOT / target).exists():
            return found[0]
        place = f"`{target}` in the sources"
        return place if label.strip("`") in (target, os.path.basename(target)) else f"{label} ({place})"
    return LINK.sub(link, text)


def main(arguments):
    if len(arguments) != 1:
        print("usage: installed_docs.py DESTINATION", file=sys.stderr)
        return 2
    destination = pathlib.Path(arguments[0])
    files = {path.relative_to(ROOT) for pattern in FILES for path in ROOT.glob(pattern) if path.is_file()}
    installed = {str(path) for file in files for path in (file, *file.parents)}
    for file in sorted(files):
        target = destination / file
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            target.write_text(with_installed_links(file, (ROOT / file).read_text("utf-8"), installed), "utf-8")
        else:
            shutil.copyfile(ROOT / file, target)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
