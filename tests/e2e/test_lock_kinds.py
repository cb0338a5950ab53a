"""One mistletoe.lock for dependencies in git, in OCI registries and in chart repositories: lock, outdated, why, also through mirrors."""
import json
import pathlib

from harness import check, config_map, contains, equal, test
from registries import Registry
from test_address_mirrors import away, in_git
from test_helm_repositories import ChartRepository
from test_mirrors import mirrored
from test_remotes import git

# The names under which the platform calls them; each has the versions 1.0.0, 1.1.0 and 2.0.0, and is locked at first when 1.1.0 isn't
# there yet.
KINDS = ("ingit", "inoci", "inhelm")


class Everywhere:
    """A registry of each kind, which have `ingit`, `inoci` and `inhelm` in 1.0.0 and 2.0.0."""

    def __init__(self, t):
        self.t = t
        self.git_server, _, self.git_url = in_git(t, "packages", (), **{"README.md": "packages\n"})
        self.oci, self.charts = Registry(t), ChartRepository(t)
        for version in ("1.0.0", "2.0.0"):
            self.publish(version)
        t.run("registry", "add", "byhelm", "--helm", self.charts.url)
        t.run("registry", "add", "bygit", "-g", self.git_url)
        self.ids = {"ingit": "bygit/ingit", "inoci": self.oci("team/inoci"), "inhelm": "byhelm/inhelm"}
        self.sources = {"bygit": {"git": {"url": self.git_url}}, "byhelm": {"helm": {"url": self.charts.url}}}

    def publish(self, version):
        t = self.t
        work = t.dir / "packages-work"
        place = work / f"packages/ingit/{version}"
        place.mkdir(parents=True)
        (place / "map.yaml").write_text(json.dumps(config_map("ingit", {"version": version})))
        git("add", ".", cwd=work)
        git("commit", "-q", "-m", version, cwd=work)
        git("push", "-q", str(t.dir / "packages.git"), "main", cwd=work)
        t.run("push", t.package(f"inoci-{version}", config_map("inoci", {"version": version})), self.oci(f"team/inoci:{version}"))
        self.charts.publish("inhelm", version)

    def stop(self):
        self.git_server.stop()
        self.oci.stop()
        self.charts.web.stop()

    def platform(self, ranges):
        self.package = self.t.files("platform", {"mistletoe.yaml": json.dumps({
            "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "platform"},
            "spec": {"engine": "jinja", "dependencies": [{"name": kind, "package": self.ids[kind], "version": ranges}
                                                         for kind in KINDS]}}),
            "templates/a.yaml.j2": json.dumps(config_map("own"))})
        return self.package

    def locked(self, versions):
        """The lines of `outdated` about the platform in these versions: {kind: (locked, fits, newest)}."""
        said = {each["package"]: each for each in
                self.t.run("package", "outdated", self.package, "-o", "json").json["packages"]}
        equal(sorted(said), sorted(self.ids.values()))
        equal({kind: tuple(said[self.ids[kind]][word] for word in ("locked", "fits", "newest")) for kind in KINDS}, versions)
        equal({kind: said[self.ids[kind]]["outdated"] for kind in KINDS},
              {kind: len(set(each)) > 1 for kind, each in versions.items()})


@test
def locks_are_the_same_for_git_oci_and_helm(t):
    there = Everywhere(t)
    package = there.platform("^1")
    lock = pathlib.Path(package) / "mistletoe.lock"
    first = t.run("package", "lock", package, "-o", "json").json
    equal((first["written"], first["packages"]), (True, 3))
    contains(lock.read_text(), *(f"name: {there.ids[kind]}" for kind in KINDS))
    there.locked({kind: ("1.0.0", "1.0.0", "2.0.0") for kind in KINDS})
    # The bytes that are locked are rendered, whatever comes later. Only of git there is a local copy, and a line says so.
    there.publish("1.1.0")
    contains(t.run("package", "outdated", package).err, "mistctl registry update bygit")
    there.locked({kind: ("1.0.0", "1.0.0" if kind == "ingit" else "1.1.0", "2.0.0") for kind in KINDS})
    t.run("registry", "update", "bygit")
    before = lock.read_text()
    t.run("package", "lock", package)
    equal(lock.read_text(), before)
    t.run("package", "lock", package, "--locked")
    there.locked({kind: ("1.0.0", "1.1.0", "2.0.0") for kind in KINDS})
    for kind in KINDS:
        contains(t.run("package", "outdated", package).out, f"{there.ids[kind]} ")
        why = t.run("package", "why", there.ids[kind], package).out
        contains(why, f"{there.ids[kind]} 1.0.0", "platform", "^1")
    # One after another moves alone, and the others stay.
    expected = {kind: ("1.0.0", "1.1.0", "2.0.0") for kind in KINDS}
    for kind in KINDS:
        changed = t.run("package", "lock", package, "--update", there.ids[kind], "-o", "json").json
        equal([(each["package"], each["before"], each["after"]) for each in changed["changes"]], [(there.ids[kind], "1.0.0", "1.1.0")])
        expected[kind] = ("1.1.0", "1.1.0", "2.0.0")
        there.locked(expected)
        contains(t.run("package", "why", there.ids[kind], package).out, f"{there.ids[kind]} 1.1.0")
    t.refused("package", "lock", package, "--update", "byhelm/inhelmet", says=["byhelm/inhelmet", "byhelm/inhelm"])


@test
def locks_are_the_same_through_mirrors(t):
    there = Everywhere(t)
    package = there.platform("^1")
    lock = pathlib.Path(package) / "mistletoe.lock"
    t.run("package", "lock", package)
    old = lock.read_text()
    there.publish("1.1.0")
    t.run("registry", "update", "bygit", "byhelm")
    t.run("package", "lock", package, "--update-all")
    new = lock.read_text()
    check(old != new, new)
    both = [f"{there.ids[kind]}:{version}" for kind in KINDS for version in ("1.0.0", "1.1.0")]
    copied = mirrored(t, *both, "--to", "oci-layout:copies")
    there.stop()
    away(t, "away", there.sources, copied["mirrors"])
    # Only mirrored versions exist: 2.0.0 is nowhere.
    t.run("package", "lock", package, "--locked")
    there.locked({kind: ("1.1.0", "1.1.0", "1.1.0") for kind in KINDS})
    lock.write_text(old)
    there.locked({kind: ("1.0.0", "1.1.0", "1.1.0") for kind in KINDS})
    for kind in KINDS:
        contains(t.run("package", "why", there.ids[kind], package).out, f"{there.ids[kind]} 1.0.0")
        t.run("package", "lock", package, "--update", there.ids[kind])
        contains(t.run("package", "why", there.ids[kind], package).out, f"{there.ids[kind]} 1.1.0")
    equal(lock.read_text(), new)
    # Without a lock it is the same again.
    lock.unlink()
    t.run("package", "lock", package)
    equal(lock.read_text(), new)
