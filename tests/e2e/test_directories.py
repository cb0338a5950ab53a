"""Directories of ours that somebody else may write to are not believed."""
import os

from harness import check, config_map, contains, equal, test


@test
def directories_that_others_may_write_to_are_refused(t):
    home = t.dir / "planted"
    home.mkdir()
    package = t.package("p", config_map("a"))
    with_home = {"MIST_HOME_LOCATION": str(home)}

    def mistctl(*arguments, code=0, **more):
        t.env = {**with_home, **more}
        return t.run(*arguments, code=code)

    mistctl("generate", "x", "-p", package)
    (home / "cache").mkdir()
    (home / "cache").chmod(0o777)
    for arguments in (("generate", "x", "-p", package), ("registry", "list"), ("install", "x", "-p", package),
                      ("config", "view")):
        refused = mistctl(*arguments, code=1)
        contains(refused.err, "is not a safe place", f"{home}/cache: everybody may write into it",
                 f"chmod o-w {home}/cache", "MIST_HOME_LOCATION", "MIST_SAFE_DIRECTORY")
        equal(refused.out, "")
    # They say what is wrong, or need nothing of it.
    contains(mistctl("doctor", "--offline", code=1).out, "everybody may write into it")
    equal(mistctl("config", "path").out, f"{home}/config.yaml\n")
    mistctl("version", "--client")
    mistctl("help", "install")
    # A volume of a container, for which its environment vouches.
    mistctl("generate", "x", "-p", package, MIST_SAFE_DIRECTORY=str(home))
    kpm = t.dir / "kpm"
    kpm.mkdir()
    kpm.chmod(0o777)
    contains(mistctl("kpm", "update", code=1, KPM_HOME=str(kpm), MIST_SAFE_DIRECTORY=str(home)).err,
             f"{kpm}: everybody may write into it", "set KPM_HOME")
    (home / "cache").chmod(0o700)
    mistctl("generate", "x", "-p", package)
    if os.geteuid() != 0:
        return t.note("not root: nothing could be given to another user")
    os.chown(home, 65534, 65534)
    refused = mistctl("generate", "x", "-p", package, code=1)
    contains(refused.err, f"{home}: it belongs to ", "65534")
    check(not list(t.dir.glob("planted/state/*.tmp")), "something was written")
