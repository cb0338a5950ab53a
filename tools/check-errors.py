#!/usr/bin/env python3
"""Checks that no program logic reads words that are for people: those of an error, a condition, an event or a summary.
What somebody must act on is a typed fact (ErrorDetails), an enum, or a structured field.

Usage: tools/check-errors.py [ROOT]      ROOT is the checkout; by default the one this file is in.
Prints file:line of each place that searches or compares an error's message, because, hint or frames, a description, the
`message` of an object, or a variable that is named like one of them; and each exception below that matches nothing any
more. Exits 1 if there is one. Tests may: they hold the words that people see.
"""
import pathlib
import re
import sys

WORDS = r"(?:message|because|hint|frames|to_line\(\))"
SEARCHES = r"(?:find|rfind|contains|starts_with|ends_with|compare|find_first_of|find_last_of)"
# Members and variables that hold text for people. Not of `reason` and `state`, which are often CamelCase words of an API.
NAMES = r"(?:messages?|words|description|because|hint|detail|summary)_?"
OF_OBJECTS = r"string_at\(\s*\{?(?:\"\w+\",\s*)*\"(?:message|description)\"\s*\}?\s*\)"
# A literal of several words, or of one between spaces: whatever is searched for it holds a sentence.
PHRASE = r"\"(?:[^\"\\\n]*\w \w[^\"\\\n]*| \w+ )\""
# A pointer, an iterator, or a length.
NO_TEXT = r"(?!\s*(?:nullptr|std::nullopt|[\w.>()-]*\bend\(\)|[\w.:>()-]*npos))"
PATTERNS = [
    re.compile(rf"[.>]{WORDS}\s*\.\s*{SEARCHES}\s*\("),
    re.compile(r"[.>]to_line\(\)\s*[!=]="),
    re.compile(rf"ranges::(?:find|any_of|contains)\w*\(\s*[\w.>()-]*[.>]frames\b"),
    re.compile(rf"regex_(?:search|match)\(\s*[\w.>()-]*(?:[.>]{WORDS}|\b{NAMES})\b"),
    re.compile(rf"(?<!\w){NAMES}\s*\.\s*{SEARCHES}\s*\("),
    re.compile(rf"(?<!\w){NAMES}(?:\(\))?\s*[!=]={NO_TEXT}"),
    re.compile(rf"[.>]frames\s*[!=]="),
    re.compile(rf"\"\s*[!=]=\s*[\w.>()-]*(?<!\w){NAMES}\b(?!\s*\.\s*size)"),
    re.compile(rf"{OF_OBJECTS}\s*\.\s*{SEARCHES}\s*\("),
    re.compile(rf"{OF_OBJECTS}\s*[!=]="),
    re.compile(rf"[!=]=\s*[\w.>()-]*{OF_OBJECTS}"),
    re.compile(rf"[.>]{SEARCHES}\(\s*{PHRASE}"),
    re.compile(rf"[!=]=\s*{PHRASE}"),
]
# Each with the code that is meant and its reason; "" means the whole file. First the borders where foreign English is
# read, each once, and becomes a fact.
ALLOWED = [
    ("wasm/trap.cc", "", "Wasmtime has no codes for these"),
    ("kube/api_failure.cc", "", "the API server has no codes for these; they become ApiFailure"),
    ("kube/api_status.cc", "message.", "the same border: the status of an answer is repaired by what the server says"),
    ("kube/api_status.cc", 'body->string_at("message")', "the same border: a kind that isn't served"),
    ("registry/git.cc", "messages.find(candidate.text)", "git has no codes: its symptoms become the kind of an error"),
    ("registry/docker_config.cc", "words.", "the protocol of credential helpers has this sentence for \"nothing stored\""),
    ("sqlite/database.cc", 'words == "ok"', "the answer of PRAGMA quick_check, as SQLite documents it"),
    ("encoding/yaml.cc", "parser.problem", "libyaml has no codes: Go's library allows what this refuses"),
    ("encoding/yaml_error.cc", "problem == ", "libyaml has no codes; a clearer message is found for it"),
    ("apply/plan/settle.cc", 'text.starts_with("Apply failed")', "the server's words are shortened for people"),
    # Words that become other words, for people alone.
    ("action/deploy/container_contents.cc", "failure.because.", "a longer text is cut"),
    ("kube/api_status.cc", "because.find(text)", "a cause that the message names already isn't repeated"),
    ("apply/wait/root_cause.cc", "message.find(", "generated names are cut, so that the same event is shown once"),
    ("view/diagnosis_tree.cc", "message", "an event that a line above shows already is left out"),
    ("view/diagnosis_tree.cc", "hint_.find(", "a remedy that the hint gives already is left out"),
    ("cli/parse/peers.cc", "because_.find(", "a remark isn't made twice"),
    ("cli/commands/search.cc", "entry.description.", "the first line of what a package says of itself"),
    ("cli/commands/blueprint.cc", "words.ends_with(", "line ends are cut"),
    ("kpm/k3.cc", "k3.description.find(", "an author's description must be one line: it is their data"),
    ("sigstore/identity_token.cc", "words.find(", "secrets are cut out of a text"),
    ("catalog/markup.cc", "words.", "Markdown is parsed"),
    ("releases/reconciler.cc", 'ready->string_at("message") == words', "an Event that would repeat the status isn't written"),
    ("apply/wait/object_waits.cc", "detail == pending.told", "a line of progress that was shown last isn't shown again"),
    ("kube/informer.cc", "to_line() == failure.to_line()", "a failure that was told last isn't told again"),
    # Names that hold something else, and literals that are names.
    ("catalog/pages.cc", "version.facts.format ", "the name of a format: the key by which versions are stored and found"),
    ("blueprint/schema_change.cc", 'after == "integer or string"', "the name of a type, made and compared in this file"),
    ("kube/credentials.cc", 'label == "PRIVATE KEY"', "a label of PEM"),
    ("registry/host_certificates.cc", 'find("PRIVATE KEY-----")', "the armour of PEM"),
    ("trust/key_file.cc", 'label == "ENCRYPTED PRIVATE KEY"', "a label of PEM"),
    ("wasm/binary.cc", 'text.starts_with("version https', "the format of pointers of git LFS"),
    ("main/catalog_accounts.cc", 'line_.command == "user disable"', "the name of a command"),
    ("cli/output/progress_tree.cc", "summary == Stage::Quiet", "an enum"),
    ("sigstore/signer.cc", "message == read.claim.message", "the signed bytes"),
    ("registry/oci_signatures.cc", "message == claim.message", "the signed bytes"),
    ("apply/fields/server_fields.cc", "each.because == because", "an enum"),
    ("blueprint/structural_schema.cc", "words.starts_with(", "the text of a rule in CEL"),
    ("blueprint/blueprint.cc", "description.find(", "a JSON value"),
    ("blueprint/resource.cc", "description.find(", "a JSON value"),
]
SAMPLES = [
    ('if (failure.message.contains("x")) return;', True),
    ('if (failure.hint == "x") return;', True),
    ('if (event.description\n        .starts_with("x")) return;', True),
    ('if (before->string_at("message") == words) return;', True),
    ('if (told == object.string_at({"status", "message"})) return;', True),
    ('return object.string_at("message").find("x") != 0;', True),
    ('if ("x" == check.detail) return;', True),
    ('const auto at = words.find("; ");', True),
    ('run.nodes.ends_with("simulated nodes")', True),
    ('subject.substr(0, subject.find(" to "))', True),
    ('text = failure.message + "x";  // message == "x"', False),
    ('if (words == nullptr || message != all.end() || hint.empty()) return;', False),
    ('constexpr auto kText = R"(if (message == "x"))";', False),
    ('set("message", words); other_words_of.find(1); url = "https://a"; return passwords.find(x);', False),
]
CODE = re.compile(r'R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)


def without_comments(text):
    """Text of the same lines; comments and raw strings, which are documents, are blank."""
    def blank(match):
        kept = match.group(0)
        return kept if kept[0] == '"' else re.sub(r"[^\n]", " ", kept)
    return CODE.sub(blank, text)


def sites(text):
    """Number and code of each line with a site."""
    code = without_comments(text)
    lines = code.split("\n")
    starts = {code.count("\n", 0, match.start()) for pattern in PATTERNS for match in pattern.finditer(code)}
    for start in sorted(starts):
        # A chain may go on in the next line.
        yield start + 1, " ".join(line.strip() for line in lines[start:start + 2]), lines[start].strip()


def problems(root):
    source = root / "src"
    unused = set(ALLOWED)
    for file in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        relative = file.relative_to(source).as_posix()
        if relative.endswith(("_test.cc", "_fixture.h")) or relative.startswith("testing/"):
            continue
        for number, code, line in sites(file.read_text()):
            allowed = {entry for entry in ALLOWED if entry[0] == relative and entry[1] in code}
            unused -= allowed
            if not allowed:
                yield f"src/{relative}:{number}: {line}"
    for file, code, _ in sorted(unused):
        yield f"src/{file}: the exception {code!r} in tools/check-errors.py matches nothing"


def main():
    for text, is_site in SAMPLES:
        assert bool(list(sites(text))) == is_site, text
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for problem in found:
        print(problem)
    if found:
        print("words are for people: give them a typed fact (ErrorDetails in src/base/error.h), an enum or a field; "
              "or an exception with its reason, in tools/check-errors.py")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
