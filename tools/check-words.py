#!/usr/bin/env python3
"""Checks documents, comments, names and messages for words and sentences that no native engineer would write.

Usage: tools/check-words.py [ROOT]      ROOT is the checkout; by default the one this file is in.
Prints file:line for each, and exits 1 if there is one. Every tracked document, source and schema: words that aren't the
field's own (WORDS and PHRASES, with what to write instead). Documents, outside of code and headings: sentences that have Who,
Whose or What as their subject; and the same, or Whoever or Whatever, in the comments of C++ sources in src/.
Questions may begin with them. Comments are read as a reader does: those on lines below each other, in one column, are
one text, so that a sentence may go on in the next line; a comment's `code` doesn't count.
"""
import pathlib
import re
import subprocess
import sys

SOURCES = (".md", ".h", ".cc", ".rs", ".go", ".py")
WORDS = {
    r"circles?": "cycle",
    r"tangle[sd]?": "strongly connected component",
    r"dearest": "critical path, or the most expensive",
    r"mend(?:s|ed|ing)?": "repair, fix",
}
STEMS = ("circle", "tangle", "dearest", "mend")
# Phrases, in src/, docs/ and tests/, and what to write instead.
PHRASES = {
    re.compile(r"\bfor who (?:has|have|needs?|may|would|is|are|lacks?|reads?)\b"): "for callers that …",
    re.compile(r"\bstands? (?:behind|before) (?:the|its|this|that)\b"): "follows, precedes",
    re.compile(r"\b(?:its|our) (?:ownership )?marks\b"): "ownership labels",
    re.compile(r"\b(?:made|makes?) anew\b"): "recreated",
    re.compile(r"\bthe wish to\b"): "the request to",
}
# Whole words, also those of a CamelCase or snake_case name: MendsTheRecord, mend_record, but not recommend or Amended.
NAMES = [(re.compile(rf"(?<![A-Za-z])(?i:{word})(?![a-z])|(?<=[a-z]){word.capitalize()}(?![a-z])"), instead)
         for word, instead in WORDS.items()]
# The beginning of a text or sentence, perhaps emphasised or quoted, up to its end. Code was taken out before.
SUBJECT = re.compile(
    r"""(?:^|[.:;!?][)"'*_]*\s)\s*["'(*_]*(Who|Whose|What|Whoever|Whatever)\b([^.!?]|[.!?](?=\S))*(?=([.!?]?))""")
IN_DOCUMENTS = ("Who", "Whose", "What")
IN_COMMENTS = (*IN_DOCUMENTS, "Whoever", "Whatever")
# What may hold a // that begins no comment, or a quote that begins no text, and the comments themselves.
TOKEN = re.compile(
    r"""R"([^()\\\s]{0,16})\((?:.*?)\)\1"|"(?:[^"\\\n]|\\.)*"|\b\d['\w]*|'(?:[^'\\\n]|\\.)*'"""
    r"""|(?P<comment>//[/!]?<?[^\n]*|/\*.*?\*/)""", re.DOTALL)
MARKER = re.compile(r"^(?://[/!]?<?|/\*+)\s*|\s*\*/$")
ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+(?=\S)")


def tracked(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"check-words: git ls-files failed: {listed.stderr.strip()}")
    return [name for name in listed.stdout.split("\0") if name.endswith(SOURCES) or name.startswith("schemas/")]


def texts(document):
    """(line number, text) of each paragraph, list item and table cell, without code, headings and comments."""
    start, lines, fenced, after_blank = 0, [], False, True
    document = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), document, flags=re.DOTALL)
    for number, line in enumerate(document.splitlines() + [""], 1):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        code = fence or fenced or (line.startswith("    ") and after_blank)
        apart = code or not line.strip() or line.startswith(("#", "|")) or ITEM.match(line)
        if apart and lines:
            yield start, "\n".join(lines)
            lines = []
        if line.startswith("|") and not code:
            for cell in re.sub(r"`[^`]*`", "`", line).split("|"):
                yield number, cell.strip()
        elif line.strip() and not code and not line.startswith("#"):
            start = start if lines else number
            lines.append(ITEM.sub("", line, count=1).strip())
        after_blank = code or not line.strip()


def comments(source):
    """(line number, text) of each comment. A // comment alone on its line goes on with one above it in its column."""
    start, lines, place = 0, [], None
    number, at = 1, 0
    for token in TOKEN.finditer(source):
        comment = token["comment"]
        if comment is None:
            continue
        number += source.count("\n", at, token.start())
        at = token.start()
        begin = source.rfind("\n", 0, at) + 1
        own = not source[begin:at].strip()
        if lines and not (own and comment.startswith("//") and place == (number, at - begin)):
            yield start, "\n".join(lines)
            lines = []
        start = start if lines else number
        lines.append(MARKER.sub("", comment))
        place = (number + comment.count("\n") + 1, at - begin)
    if lines:
        yield start, "\n".join(lines)


def unnamed(text, beginnings):
    """(lines above it, first words) of each sentence that has one of `beginnings` as its subject."""
    text = re.sub(r"`[^`]*`", lambda code: "`" + "\n" * code[0].count("\n"), text)
    for found in SUBJECT.finditer(text):
        if found[1] in beginnings and found[3] != "?":
            yield text.count("\n", 0, found.start(1)), " ".join(found[0].lstrip(".:;!?)\"'*_ \n").split()[:6])


def problems(root):
    for name in tracked(root):
        file = root / name
        if name == "tools/check-words.py" or not file.is_file():
            continue
        content = file.read_text(errors="replace")
        lower = content.lower()
        if any(stem in lower for stem in STEMS):
            for number, line in enumerate(content.splitlines(), 1):
                for pattern, instead in NAMES:
                    if found := pattern.search(line):
                        yield f'{name}:{number}: "{found[0]}": write {instead}'
        for pattern, instead in PHRASES.items() if name.startswith(("src/", "docs/", "tests/")) else ():
            for found in pattern.finditer(content):
                number = content.count("\n", 0, found.start()) + 1
                yield f'{name}:{number}: "{found[0]}": write {instead}'
        passages, beginnings = (), ()
        if name.endswith(".md"):
            passages, beginnings = texts(content), IN_DOCUMENTS
        elif name.startswith("src/") and name.endswith((".h", ".cc")):
            passages, beginnings = comments(content), IN_COMMENTS
        for start, text in passages:
            for above, words in unnamed(text, beginnings):
                yield f'{name}:{start + above}: "{words} …": name the subject'


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
