"""The commands that mistctl prints in hints: taken out of texts, and held against the command line that they were printed for. The
harness looks at every run of every test; test_hints.py carries them out."""
import shlex

WITH_VALUE = {"-n", "--context", "--kubeconfig", "-f", "-p", "-o", "--clock"}
# Their first argument is a release.
OF_RELEASE = {"diff", "drift", "history", "install", "plan", "recover", "rollback", "status", "test", "uninstall", "upgrade"}


def commands_in(text):
    """The commands in a text, each as a list of words: verb and name, then flags with their values."""
    found = []
    for piece in text.replace("\n", " ").split("mistctl ")[1:]:
        words = piece.split()
        if not words:
            continue
        taken, at = words[:1], 1
        while at < len(words) and not taken[-1].endswith((",", ";", ":")):
            word = words[at]
            if word in WITH_VALUE:
                taken += words[at:at + 2]
                at += 2
            elif word.startswith("-") or at == 1:
                taken.append(word)
                at += 1
            else:
                break
        taken[-1] = taken[-1].rstrip(",;:")
        try:
            found.append(shlex.split(" ".join(taken)))
        except ValueError:
            pass  # a sentence about mistctl
    return found


def given(words, flag):
    """The value of a flag in a command line; None: it isn't there."""
    for at, word in enumerate(words):
        if word == flag and at + 1 < len(words):
            return words[at + 1]
        if word.startswith(flag + "="):
            return word[len(flag) + 1:]
    return None


def lost_context(command, text):
    """The hints in `text` that would lead to another release or cluster than `command`, each with what they lack."""
    lost = []
    release = command[2] if len(command) > 2 and command[1] in OF_RELEASE else None
    for words in commands_in(text):
        # "mistctl status shows it" is a sentence.
        of_release = words[0] in OF_RELEASE and len(words) > 1 and words[1] == release
        if not of_release and words[0] not in ("list", "apply-plan"):
            continue
        line = " ".join(["mistctl", *words])
        if of_release and given(command, "-n") not in (None, given(words, "-n")) or of_release and "-n" not in words:
            lost.append(f"{line}: -n was {given(command, '-n')}")
        for flag in ("--context", "--kubeconfig"):
            if given(command, flag) != given(words, flag):
                lost.append(f"{line}: {flag} was {given(command, flag)}")
    return lost
