"""Helm's provenance files (.prov): made with GnuPG, verified in chart repositories, OCI registries and on disk."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

from harness import Skipped, check, config_map, contains, equal, test
from registries import Registry
from test_helm_repositories import ChartRepository, packed
from test_registries import helm
from test_signatures import policy


class Keys:
    """GnuPG with keys of its own, which end with the test."""

    def __init__(self, t):
        if not shutil.which("gpg"):
            raise Skipped("there is no gpg")
        self.home = t.dir / "gnupg"
        self.home.mkdir(mode=0o700)
        self.env = {"PATH": os.environ["PATH"], "GNUPGHOME": str(self.home), "LC_ALL": "C"}
        t.cleanup(lambda: subprocess.run(["gpgconf", "--kill", "all"], env=self.env, check=False))

    def gpg(self, *arguments, text=None):
        done = subprocess.run(["gpg", "--batch", "--yes", "--pinentry-mode", "loopback", "--passphrase", "", *arguments],
                              env=self.env, input=text, capture_output=True, check=False)
        check(done.returncode == 0, done.stderr.decode())
        return done.stdout

    def make(self, name, expires="0", *more):
        """The fingerprint of a new key."""
        self.gpg(*more, "--quick-generate-key", f"{name} <{name}@team.example>", "rsa2048", "sign", expires)
        listed = self.gpg("--list-keys", "--with-colons", name).decode()
        return next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr"))

    def export(self, t, file, *names):
        (t.dir / file).parent.mkdir(mode=0o700, exist_ok=True)
        (t.dir / file).write_bytes(self.gpg("--export", *names))
        return str(t.dir / file)

    def sign(self, archive, chart="db", version="1.0.0", file=None, by="ann", flags=()):
        text = (f"apiVersion: v2\ndescription: Keeps rows\nname: {chart}\nversion: {version}\n\n...\nfiles:\n"
                f"  {file or f'{chart}-{version}.tgz'}: sha256:{hashlib.sha256(archive).hexdigest()}\n")
        return self.gpg(*flags, "--local-user", by, "--clearsign", text=text.encode())


class SignedCharts(ChartRepository):
    """The same with provenance files."""

    def __init__(self, t):
        super().__init__(t)
        self.provenance = {}
        self.led = {}  # archives that the index has elsewhere, by their address here

    def body_of(self, path):
        body = self.provenance.get(path) or super().body_of(path)
        if path == "/stable/index.yaml":
            for here, there in self.led.items():
                body = body.replace(json.dumps([here]).encode(), json.dumps([there]).encode())
        return body

    def archive(self, name, version):
        return self.archives[f"/stable/{name}-{version}.tgz"][2]

    def put(self, name, version, provenance):
        self.provenance[f"/stable/{name}-{version}.tgz.prov"] = provenance


@test
def provenance_of_a_chart_repository_is_required_by_the_policy(t):
    keys, charts = Keys(t), SignedCharts(t)
    ann = keys.make("ann")
    keys.make("bob")
    keys.export(t, "home/team.gpg", "ann")
    for version in ("1.0.0", "1.1.0"):
        charts.publish("db", version)
    t.run("registry", "add", "shop", "--helm", charts.url)
    policy(t, {"match": "shop/**", "keyring": "team.gpg", "fingerprints": [ann]})
    t.refused("install", "db", "-p", "shop/db:1.0.0",
              says=["shop/db:1.0.0", "is not signed by the keyring team.gpg, as the trust policy requires",
                    f"there is no {charts.url}/db-1.0.0.tgz.prov", "trust.yaml"])
    equal(t.record("db"), [], "nothing was written")
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0"), by="bob"))
    t.refused("generate", "db", "-p", "shop/db:1.0.0", says=["it is of no key of the keyring"])
    ring = (t.dir / "home/team.gpg").read_bytes()
    (t.dir / "home/team.gpg").write_bytes(b"no keys")
    t.refused("generate", "db", "-p", "shop/db:1.0.0", says=["the keyring team.gpg can't be used", "gpg --export"])
    contains(t.run("doctor", "--offline", code=None).out, "the keyring team.gpg can't be used")
    (t.dir / "home/team.gpg").write_bytes(ring)
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0")))
    t.run("install", "db", "-p", "shop/db:1.0.0")
    equal(t.kube.get("ConfigMap", t.ns, "db")["data"], {"version": "1.0.0"})
    # An old version under a new name.
    charts.put("db", "1.1.0", keys.sign(charts.archive("db", "1.1.0"), version="1.0.0"))
    t.refused("upgrade", "db", "-p", "shop/db:1.1.0", says=["it was made for the chart db 1.0.0, and this is db 1.1.0"])
    charts.put("db", "1.1.0", keys.sign(charts.archive("db", "1.1.0"), version="1.1.0"))
    t.run("upgrade", "db", "-p", "shop/db:1.x")
    # Offline: what was verified stays usable, also by another keyring, and a revoked key counts for nothing.
    charts.web.stop()
    t.run("generate", "db", "-p", "shop/db:1.0.0")
    signers = t.run("inspect", "package", "shop/db:1.0.0", "-o", "json").json["signatures"]
    equal([(each["form"], each["keys"], each["name"], each["valid"]) for each in signers],
          [("helm", [f"openpgp:{ann}"], "ann <ann@team.example>", True)])
    contains(t.run("inspect", "package", "shop/db:1.0.0").out, f"ann <ann@team.example> (key openpgp:{ann})")
    keys.export(t, "home/team.gpg", "ann", "bob")
    t.run("generate", "db", "-p", "shop/db:1.0.0")
    certificate = keys.home / "openpgp-revocs.d" / f"{ann}.rev"
    keys.gpg("--import", text=certificate.read_bytes().replace(b":-----BEGIN", b"-----BEGIN"))
    keys.export(t, "home/team.gpg", "ann", "bob")
    t.refused("generate", "db", "-p", "shop/db:1.0.0", says=["its key was revoked"])
    t.run("uninstall", "db", "--yes")


@test
def provenance_flags_are_those_of_helm(t):
    keys = Keys(t)
    ann = keys.make("ann")
    keys.make("bob")
    team, other = keys.export(t, "team.gpg", "ann"), keys.export(t, "other.gpg", "bob")
    (t.dir / "team.asc").write_bytes(keys.gpg("--armor", "--export", "ann"))
    archive = packed("db", "1.0.0")
    chart = t.dir / "db-1.0.0.tgz"
    chart.write_bytes(archive)
    file = pathlib.Path(f"{chart}.prov")
    t.refused("install", "db", "-p", str(chart), "--verify", "--keyring", team, says=["is not signed by the keyring", f"there is no {file}"])
    t.refused("generate", "db", "-p", str(chart), "--keyring", team, code=2, says=["--keyring goes with --verify"])
    file.write_bytes(keys.sign(archive))
    for ring in (team, str(t.dir / "team.asc"), str(keys.home / "pubring.kbx")):
        t.run("generate", "db", "-p", str(chart), "--verify", "--keyring", ring)
    t.run("install", "db", "-p", str(chart), "--verify", "--keyring", team)
    t.run("upgrade", "db", "--verify", "--keyring", team)
    # As helm verify, which looks for the keys where GnuPG has them.
    verified = t.run("verify", str(chart), "--keyring", team, "-o", "json").json
    equal([verified["trusted"], verified["digest"], verified["signatures"][0]["keys"]],
          [True, "sha256:" + hashlib.sha256(archive).hexdigest(), [f"openpgp:{ann}"]])
    t.refused("verify", str(chart), says=["there is no keyring"])
    t.env["GNUPGHOME"] = str(keys.home)
    contains(t.run("verify", str(chart)).out, "ann <ann@team.example>", "valid")
    refused = t.run("verify", str(chart), "--keyring", other, "-o", "json", code=1)
    equal(refused.json["trusted"], False)
    contains(refused.err, "it is of no key of the keyring")
    # The answer for one keyring is never given for another, however soon the next question comes.
    for _ in range(4):
        t.run("verify", str(chart), "--keyring", team)
        t.refused("verify", str(chart), "--keyring", other, says=["it is of no key of the keyring"])
    contains(t.run("inspect", "package", str(chart)).err, "there is a provenance file")
    equal(len(t.run("inspect", "package", str(chart), "--verify", "-o", "json").json["signatures"]), 1)
    # Whatever isn't what it was signed as.
    good = file.read_bytes()
    for change, says in (
            (b"name: evil\n" + good, "it holds text outside of what was signed"),
            (good + good, "it holds text outside of what was signed"),
            (good.replace(b"Keeps rows", b"Drops rows"), "its signature doesn't fit the text"),
            (keys.sign(archive + b"x"), "it is for another archive"),
            (keys.sign(archive, chart="web"), "it was made for the chart web 1.0.0, and this is db 1.0.0"),
            (keys.sign(archive, file="web-1.0.0.tgz"), "it names no file db-1.0.0.tgz"),
            (keys.sign(archive, flags=("--digest-algo", "SHA1")), "its signature is over a digest that can be forged"),
            (keys.sign(archive, flags=("--local-user", "bob")), "it has several signatures"),
            (b"-----BEGIN PGP SIGNED MESSAGE-----\n", "it is no text that was signed"),
            (b"x" * ((1 << 20) + 1), "db-1.0.0.tgz.prov")):
        file.write_bytes(change)
        t.refused("verify", str(chart), "--keyring", str(keys.home / "pubring.kbx"), says=[says])
    # An old archive that got the name of a new version, with its provenance file.
    file.write_bytes(good)
    renamed = t.dir / "db-2.0.0.tgz"
    renamed.write_bytes(archive)
    pathlib.Path(f"{renamed}.prov").write_bytes(good)
    for arguments in (("verify", str(renamed)), ("generate", "db", "-p", str(renamed), "--verify")):
        t.refused(*arguments, "--keyring", team, says=["it names no file db-2.0.0.tgz"])
    # With gpg's own clock set back, a key that lived for a day.
    keys.make("dan", "1d", "--faked-system-time", "20200101T000000")
    file.write_bytes(keys.sign(archive, by="dan", flags=("--faked-system-time", "20200101T000100")))
    t.refused("verify", str(chart), "--keyring", keys.export(t, "dan.gpg", "dan"), says=["its key has expired"])
    file.write_bytes(keys.sign(archive, flags=("--default-sig-expire", "1d", "--faked-system-time", "20990101T000000", "--ignore-time-conflict")))
    t.refused("verify", str(chart), "--keyring", team, says=["later than now"])
    directory = t.files("web", {"Chart.yaml": json.dumps({"apiVersion": "v2", "name": "web", "version": "1.0.0"})})
    t.refused("generate", "db", "-p", directory, "--verify", "--keyring", team, says=["is not a packed chart"])
    t.run("uninstall", "db", "--yes")


@test
def provenance_is_pulled_with_charts_of_a_chart_repository(t):
    keys, charts = Keys(t), SignedCharts(t)
    keys.make("ann")
    team = keys.export(t, "team.gpg", "ann")
    for version in ("1.0.0", "1.1.0"):
        charts.publish("db", version)
    signed = keys.sign(charts.archive("db", "1.0.0"))
    charts.put("db", "1.0.0", signed)
    t.run("registry", "add", "shop", "--helm", charts.url)
    there = t.dir / "there"
    t.refused("pull", "shop/db:1.0.0", "-d", str(there), says=["there is no directory"])
    there.mkdir()
    # As helm pull: the archive, byte for byte.
    equal(t.run("pull", "shop/db:^1", "-d", str(there)).out, f"{there}/db-1.1.0.tgz\n")
    equal((there / "db-1.1.0.tgz").read_bytes(), charts.archive("db", "1.1.0"))
    check(not (there / "db-1.1.0.tgz.prov").exists())
    equal(t.run("pull", "shop/db:1.0.0", "-d", str(there), "--prov").out, f"{there}/db-1.0.0.tgz\n{there}/db-1.0.0.tgz.prov\n")
    equal((there / "db-1.0.0.tgz.prov").read_bytes(), signed)
    t.run("verify", str(there / "db-1.0.0.tgz"), "--keyring", team)
    # One without is pulled all the same, unless it must be verified.
    contains(t.run("pull", "shop/db:1.1.0", "-d", str(there), "--prov").err, "warning: shop/db:1.1.0", "has no provenance file")
    t.refused("pull", "shop/db:1.1.0", "-d", str(there), "--verify", "--keyring", team, says=["is not signed by the keyring"])
    # Unpacked it is the chart's directory, which another pull doesn't touch.
    equal(t.run("pull", "shop/db:1.0.0", "--untar", "-d", str(there), "--verify", "--keyring", team).out, f"{there}/db\n")
    contains((there / "db/Chart.yaml").read_text(), "1.0.0")
    contains(t.run("generate", "x", "-p", str(there / "db")).out, "1.0.0")
    t.refused("pull", "shop/db:1.1.0", "--untar", "-d", str(there), says=["isn't empty"])
    # In an OCI registry the provenance file is a layer of the same chart.
    registry = Registry(t)
    t.run("push", str(there / "db-1.0.0.tgz"), registry("charts/db"))
    t.run("pull", registry("charts/db:1.0.0"), "-o", str(t.dir / "back.tgz"), "--prov")
    equal((t.dir / "back.tgz.prov").read_bytes(), signed)
    equal((t.dir / "back.tgz").read_bytes(), charts.archive("db", "1.0.0"))


@test
def provenance_of_a_chart_that_was_verified_stays_of_its_key(t):
    keys, charts, registry = Keys(t), SignedCharts(t), Registry(t)
    keys.make("ann")
    keys.make("bob")
    team, other = keys.export(t, "team.gpg", "ann"), keys.export(t, "other.gpg", "bob")
    for version, by in (("1.0.0", "ann"), ("1.1.0", "bob"), ("1.2.0", None), ("1.3.0", "ann")):
        charts.publish("db", version)
        file = t.dir / f"db-{version}.tgz"
        file.write_bytes(charts.archive("db", version))
        if by:
            charts.put("db", version, keys.sign(charts.archive("db", version), version=version, by=by))
            pathlib.Path(f"{file}.prov").write_bytes(charts.provenance[f"/stable/db-{version}.tgz.prov"])
        t.run("push", str(file), registry("charts/db"))
    t.run("registry", "add", "shop", "--helm", charts.url)
    for name in ("shop/db", registry("charts/db")):
        t.run("verify", f"{name}:1.0.0", "--keyring", team)
        t.run("generate", "db", "-p", f"{name}:1.0.0")
        for version, says in (("1.1.0", "--accept-changed"),
                              ("1.2.0", "is not signed, and what was used of it before is signed by key openpgp:")):
            t.refused("generate", "db", "-p", f"{name}:{version}", says=[says])
        t.run("generate", "db", "-p", f"{name}:1.3.0")
        contains(t.run("verify", f"{name}:1.3.0").out, "ann <ann@team.example>", "valid")
    t.run("verify", "shop/db:1.1.0", "--keyring", other, "--accept-changed")
    t.run("generate", "db", "-p", "shop/db:1.1.0")


@test
def provenance_of_charts_that_others_name(t):
    """Charts that a chart depends on, and that a kustomization names by their repository's address."""
    keys, charts, registry = Keys(t), SignedCharts(t), Registry(t)
    keys.make("ann")
    keys.make("bob")
    team, other = keys.export(t, "home/team.gpg", "ann"), keys.export(t, "other.gpg", "bob")
    charts.publish("db", "1.0.0")

    def app(name, repository):
        directory = t.dir / name
        t.file(f"{name}/Chart.yaml", json.dumps({"apiVersion": "v2", "name": name, "version": "1.0.0", "dependencies": [
            {"name": "db", "version": "1.x", "repository": repository}]}))
        return directory

    chart = app("app", charts.url)
    kustomization = str(pathlib.Path(t.file("kustom/kustomization.yaml", json.dumps({"helmCharts": [
        {"name": "db", "version": "1.0.0", "repo": charts.url, "releaseName": "db"}]}))).parent)
    t.run("generate", "db", "-p", kustomization)
    t.refused("dependency", "update", str(chart), "--verify", "--keyring", team,
              says=["is not signed by the keyring", f"there is no {charts.url}/db-1.0.0.tgz.prov"])
    check(not (chart / "charts").exists() and not (chart / "Chart.lock").exists(), "nothing was written")
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0")))
    t.refused("dependency", "update", str(chart), "--verify", "--keyring", other, says=["it is of no key of the keyring"])
    t.run("dependency", "update", str(chart), "--verify", "--keyring", team)
    t.run("dependency", "build", str(chart), "--verify", "--keyring", team)
    # The policy counts by address and by name, with and without the flag.
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0"), by="bob"))
    t.run("registry", "add", "shop", "--helm", charts.url)
    for match in (f"{charts.url}/**", "shop/**"):
        policy(t, {"match": match, "keyring": "team.gpg"})
        for arguments in (("dependency", "build", str(chart)), ("generate", "db", "-p", kustomization),
                          ("dependency", "build", str(chart), "--verify", "--keyring", other)):
            t.refused(*arguments, says=["is not signed by the keyring team.gpg, as the trust policy requires"])
    policy(t, {"match": f"{charts.url}/**", "keyring": "team.gpg"})
    t.refused("generate", "db", "-p", "shop/db:1.0.0", says=["as the trust policy requires"])
    # A rule for one name of a repository is held under its other names.
    t.run("registry", "add", "second", "--helm", charts.url)
    policy(t, {"match": "shop/**", "keyring": "team.gpg"})
    t.refused("generate", "db", "-p", "second/db:1.0.0", says=["as the trust policy requires"])
    policy(t, {"match": f"{charts.url}/**", "keyring": "team.gpg"})
    charts.put("db", "1.0.0", keys.sign(charts.archive("db", "1.0.0")))
    t.run("generate", "db", "-p", "second/db:1.0.0")
    t.run("dependency", "build", str(chart))
    t.run("generate", "db", "-p", kustomization)
    t.run("generate", "db", "-p", "shop/db:1.0.0")
    # A path may not lead around its rule.
    t.refused("registry", "add", "around", "--helm", charts.url + "/../stable", says=["its path has a segment '..'"])
    around = str(pathlib.Path(t.file("around/kustomization.yaml", json.dumps({"helmCharts": [
        {"name": "db", "version": "1.0.0", "repo": charts.url.replace("/stable", "/other/%2e%2e/stable"), "releaseName": "db"}]}))).parent)
    t.refused("generate", "db", "-p", around, says=["its path has a segment '..'"])
    # An index isn't signed: it may not lead past the rule.
    charts.publish("db", "1.1.0")
    file = t.dir / "db-1.1.0.tgz"
    file.write_bytes(charts.archive("db", "1.1.0"))
    t.run("push", str(file), registry("charts/db"))
    charts.led["db-1.1.0.tgz"] = registry("charts/db:1.1.0")
    t.refused("dependency", "update", str(chart), says=["as the trust policy requires"])
    # There its file is a layer.
    signed = charts.archive("db", "1.1.0")
    pathlib.Path(f"{file}.prov").write_bytes(keys.sign(signed, version="1.1.0"))
    t.run("push", str(file), registry("charts/db"), "--overwrite")
    led = app("led", charts.url)
    t.run("dependency", "update", str(led))
    equal((led / "charts/db-1.1.0.tgz").read_bytes(), signed)
    t.refused("generate", "db", "-p", str(pathlib.Path(t.file("ledkustom/kustomization.yaml", json.dumps({"helmCharts": [
        {"name": "db", "version": "1.1.0", "repo": charts.url, "releaseName": "db"}]}))).parent),
        says=[f"the chart db 1.1.0 of {charts.url} is in an OCI registry", "its index leads to " + registry("charts/db:1.1.0")])
    pathlib.Path(f"{file}.prov").unlink()
    t.run("push", str(file), registry("charts/db"), "--overwrite")
    # Nor to an old version that was signed under that name, with or without a rule.
    charts.led.clear()
    charts.archives["/stable/db-1.1.0.tgz"] = ("db", "1.1.0", charts.archive("db", "1.0.0"))
    charts.put("db", "1.1.0", charts.provenance["/stable/db-1.0.0.tgz.prov"])
    newer = str(pathlib.Path(t.file("newer/kustomization.yaml", json.dumps({"helmCharts": [
        {"name": "db", "version": "1.1.0", "repo": charts.url, "releaseName": "db"}]}))).parent)

    def are_refused(*flags):
        for arguments in (("generate", "db", "-p", newer), ("dependency", "update", str(chart), *flags)):
            t.refused(*arguments, says=["isn't the chart db 1.1.0 of the index of", "its Chart.yaml says db 1.0.0"])
    are_refused()
    (t.dir / "home" / "trust.yaml").unlink()
    are_refused("--verify", "--keyring", team)
    # In an OCI registry the file is a layer.
    there = app("there", registry("charts"))
    t.run("dependency", "update", str(there))
    t.refused("dependency", "update", str(there), "--verify", "--keyring", team, says=["there is no layer"])
    pathlib.Path(f"{file}.prov").write_bytes(keys.sign(file.read_bytes(), version="1.1.0"))
    t.run("push", str(file), registry("charts/db"), "--overwrite")
    t.run("dependency", "update", str(there), "--verify", "--keyring", team)
    t.run("registry", "tag", registry("charts/db:1.1.0"), "1.9.0")
    t.refused("dependency", "update", str(there), says=["charts/db:1.9.0 isn't the version that its tag says",
                                                        "its Chart.yaml says db 1.1.0"])


@test
def provenance_travels_through_oci_registries(t):
    keys, origin, mirror = Keys(t), Registry(t), Registry(t)
    keys.make("ann")
    keys.make("bob")
    team = keys.export(t, "home/team.gpg", "ann")
    archive = packed("db", "1.0.0")
    chart = t.dir / "db-1.0.0.tgz"
    chart.write_bytes(archive)
    pathlib.Path(f"{chart}.prov").write_bytes(keys.sign(archive))
    t.run("push", str(chart), origin("charts/db"))
    unsigned = t.dir / "bare-1.0.0.tgz"
    unsigned.write_bytes(packed("bare", "1.0.0"))
    t.run("push", str(unsigned), origin("charts/bare"))
    t.run("registry", "copy", origin("charts/db:1.0.0"), mirror("copies/db"))
    for reference in (origin("charts/db:1.0.0"), mirror("copies/db:1.0.0")):
        contains(t.run("verify", reference, "--keyring", team).out, "ann <ann@team.example>", "helm", "valid")
        t.run("generate", "db", "-p", reference, "--verify", "--keyring", team)
    t.refused("verify", origin("charts/db:1.0.0"), "--keyring", keys.export(t, "bob.gpg", "bob"),
              says=["it is of no key of the keyring"])
    t.refused("pull", origin("charts/bare:1.0.0"), "--verify", "--keyring", team,
              says=["there is no layer application/vnd.cncf.helm.chart.provenance.v1.prov in"])
    # The same layers under the tag of a new version, and in the repository of another chart.
    t.run("registry", "tag", origin("charts/db:1.0.0"), "2.0.0")
    t.run("registry", "copy", origin("charts/db:1.0.0"), origin("charts/other:1.0.0"))
    old, other = origin("charts/db:2.0.0"), origin("charts/other:1.0.0")

    def are_refused(*flags):
        t.refused("generate", "db", "-p", old, *flags, says=["charts/db:2.0.0 is the chart db 1.0.0"])
        t.refused("generate", "db", "-p", other, *flags, says=["it was made for the chart db, and the repository is that of other"])
    are_refused("--verify", "--keyring", team)
    t.refused("verify", old, "--keyring", team, says=["charts/db:2.0.0 is the chart db 1.0.0"])
    t.refused("verify", other, "--keyring", team, says=["it was made for the chart db"])
    policy(t, {"match": f"oci://{mirror.host}/**", "keyring": "team.gpg"}, {"match": f"oci://{origin.host}/**", "keyring": "team.gpg"})
    are_refused()
    t.run("install", "db", "-p", mirror("copies/db:1.0.0"))
    t.refused("install", "bare", "-p", origin("charts/bare:1.0.0"), says=["is not signed by the keyring team.gpg"])
    contains(t.run("inspect", "package", mirror("copies/db:1.0.0")).out, "ann <ann@team.example>")
    t.run("mirror", origin("charts/db:1.0.0"), "--to", f"oci-layout:{t.dir}/layout")
    origin.stop()
    mirror.stop()
    t.run("generate", "db", "-p", mirror("copies/db:1.0.0"))
    t.file("home/config.yaml", json.dumps({"apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig", "spec": {
        "registries": [], "mirrors": [{"prefix": origin.host, "places": [f"oci-layout:{t.dir}/layout"], "only": True}]}}))
    t.run("generate", "db", "-p", origin("charts/db:1.0.0"))
    t.run("uninstall", "db", "--yes")


@test
def provenance_is_what_helm_makes_and_takes(t):
    """The real helm packs, signs and pushes; what it refuses is refused here too."""
    program = helm()
    if program is None:
        return t.note("not run: bench/peers was never built here")
    keys, registry = Keys(t), Registry(t)
    ann = keys.make("ann")
    # Helm signs with an unencrypted ring of secret keys.
    (t.dir / "secring.gpg").write_bytes(keys.gpg("--export-secret-keys", "ann"))
    team = keys.export(t, "team.gpg", "ann")
    chart = t.files("db", {"Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0+build.1\ndescription: Keeps rows\n",
                           "templates/map.yaml": json.dumps(config_map("{{ .Release.Name }}", {}))})
    env = {"PATH": os.environ["PATH"], "HOME": str(t.dir), "HELM_REGISTRY_CONFIG": str(t.dir / "helm.json")}

    def run_helm(*arguments, code=0):
        done = subprocess.run([program, *arguments], env=env, cwd=t.dir, capture_output=True, text=True, check=False)
        check((done.returncode == 0) == (code == 0), f"helm {arguments}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    run_helm("package", chart, "--sign", "--key", "ann", "--keyring", str(t.dir / "secring.gpg"), "-d", str(t.dir))
    packed_chart = str(t.dir / "db-1.0.0+build.1.tgz")
    run_helm("push", packed_chart, f"oci://{registry.host}/charts", "--plain-http")
    reference = registry("charts/db:1.0.0_build.1")
    for place in (packed_chart, reference):
        verified = t.run("verify", place, "--keyring", team, "-o", "json").json
        equal([verified["trusted"], verified["signatures"][-1]["keys"]], [True, [f"openpgp:{ann}"]])
    # And the other way.
    t.run("push", packed_chart, registry("mine/db"))
    run_helm("pull", f"oci://{registry.host}/mine/db", "--version", "1.0.0+build.1", "--verify", "--keyring", team, "--plain-http")
    run_helm("verify", packed_chart, "--keyring", team)
    file = pathlib.Path(packed_chart + ".prov")
    good = file.read_bytes()
    for bad in (good.replace(b"Keeps", b"Drops"), good[:300], b""):
        file.write_bytes(bad)
        run_helm("verify", packed_chart, "--keyring", team, code=1)
        t.refused("verify", packed_chart, "--keyring", team)
