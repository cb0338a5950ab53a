"""Secrets that packages ask their host for: the same in every language, on every way, for ever."""
import base64
import datetime
import json
import pathlib
import subprocess

from harness import check, contains, equal, test
from test_demo import ROOT

SEED = json.dumps({"seed": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "clock": "2026-01-01T00:00:00Z"})


def built(script, *arguments):
    """The directory with the modules that a build script of the tree makes."""
    made = subprocess.run(["bash", ROOT / script, *arguments], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    return pathlib.Path(made.stdout.strip().splitlines()[-1])


def postgres():
    return str(next(built("packages/build.sh").glob("postgres-credentials-*.wasm")))


@test
def secrets_in_c_go_and_rust_are_alike(t):
    modules = built("tests/conformance/build.sh")
    seed = t.file("seed", SEED)
    outputs = {language: t.run("generate", "web", "-p", str(modules / language / "secrets.wasm"), "--seed-file", seed,
                               "-o", "raw").out for language in ("c", "go", "rust")}
    contains(outputs["c"], "kind: Secret", "BEGIN PRIVATE KEY")
    equal(outputs["go"], outputs["c"], "Go and C")
    equal(outputs["rust"], outputs["c"], "Rust and C")


@test
def generated_secrets_stay_and_shift_none(t):
    package, seed = postgres(), t.file("seed", SEED)
    command = ["generate", "db", "-p", package, "--seed-file", seed, "-o", "json"]
    first = t.run(*command)
    equal(t.run(*command).out, first.out, "the second time")
    both = t.run(*command, "-s", "readOnlyUser=true").json["items"]
    equal(both[0], first.json["items"][0], "the first user's Secret beside another")
    passwords = {item["stringData"]["password"] for item in both}
    equal(len(passwords), 2, "two users have two passwords")
    moved = t.run(*command, "-s", "host=db.example.com").json["items"][0]["stringData"]
    equal(moved["password"], first.json["items"][0]["stringData"]["password"], "the password at another host")
    other = t.run(*command, "-n", "other").json["items"][0]["stringData"]["password"]
    check(other not in passwords, "another namespace has the same password")
    # Nothing of it is said where people log.
    for password in passwords:
        check(password not in t.run(*command, "-v", "-s", "readOnlyUser=true").err, "-v printed a password")


def data(t, name="db"):
    """The decoded data of a live Secret."""
    return {key: base64.b64decode(value).decode() for key, value in t.kube.get("Secret", t.ns, name)["data"].items()}


@test
def secrets_are_the_same_on_every_way(t):
    """generate, dry run, install, upgrade and rollback: one password."""
    package, seed = postgres(), t.file("seed", SEED)
    generated = t.run("generate", "db", "-p", package, "--seed-file", seed, "-n", t.ns, "-o", "json").json["items"][0]
    t.run("install", "db", "-p", package, "--seed-file", seed, "--dry-run")
    t.run("install", "db", "-p", package, "--seed-file", seed)
    first = data(t)
    equal(first, generated["stringData"], "the installed Secret beside the generated one")
    equal(t.run("upgrade", "db", "-o", "json").json["changed"], False, "an upgrade with nothing new")
    moved = t.run("upgrade", "db", "-s", "host=db.example.com", "-s", "readOnlyUser=true", "--dry-run", "-o", "json").json
    fields = {o["name"]: o["fields"] for o in moved["objects"]}
    equal(fields["db"], [".data.host", ".data.pgpass", ".data.uri"], "what the dry run would change")
    t.run("upgrade", "db", "-s", "host=db.example.com", "-s", "readOnlyUser=true")
    second = data(t)
    equal(second["password"], first["password"], "the password at another host, beside another user")
    contains(second["uri"], first["password"], "db.example.com")
    check(data(t, "db-read-only")["password"] not in first["uri"], "two users have one password")
    t.run("rollback", "db", "0")
    equal(data(t), first, "after the rollback")
    # And another release of the same package has others.
    t.run("install", "other", "-p", package)
    check(data(t, "other")["password"] != first["password"], "two releases have one password")


@test
def a_changed_secret_is_refused_with_its_fields(t):
    package = postgres()
    t.run("install", "db", "-p", package, "-s", "readOnlyUser=true")
    before, other = data(t), data(t, "db-read-only")
    mark = t.mark()
    longer = ["upgrade", "db", "-s", "readOnlyUser=true", "-s", "passwordLength=40"]
    for command in (longer, [*longer, "--dry-run"]):
        refused = t.refused(*command, says=[f"Secret {t.ns}/db: .data.password (secret user)", ".data.uri", ".data.pgpass",
                                            f"Secret {t.ns}/db-read-only: .data.password (secret read-only)",
                                            "--rotate-secrets=user"])
        for password in (before["password"], other["password"]):
            check(password not in refused.out + refused.err, "the refusal holds a password")
    equal([r for r in t.requests(mark) if r.writes], [], "writes")
    t.refused(*longer, "--rotate-secrets=user", says=["db-read-only: .data.password"])
    t.refused("upgrade", "db", "--rotate-secrets=usr", says=["it asks for read-only, user"], code=2)
    t.run(*longer, "--rotate-secrets=user", "--rotate-secrets=read-only")
    equal(len(data(t)["password"]), 40, "the length of the new password")
    check(not data(t)["password"].startswith(before["password"]), "the new password begins with the old one")


@test
def rotating_one_secret_leaves_the_others(t):
    package = postgres()
    t.run("install", "db", "-p", package, "-s", "readOnlyUser=true")
    before, other = data(t), data(t, "db-read-only")
    verbose = t.run("upgrade", "db", "--rotate-secrets=user", "-v")
    after = data(t)
    check(after["password"] != before["password"], "the rotated password is the old one")
    contains(after["uri"], after["password"])
    equal(data(t, "db-read-only"), other, "the other user's Secret")
    for password in (before["password"], after["password"], other["password"]):
        check(password not in verbose.out + verbose.err, "-v printed a password")
    equal(t.run("upgrade", "db", "-o", "json").json["changed"], False, "the next upgrade")
    equal(data(t), after, "after the next upgrade")
    drawn = t.run("inspect", "release", "db", "-o", "json").json["revisions"][0]["drawn"]
    equal(drawn["rotations"], {"user": 1}, "rotations")
    equal(drawn["secrets"], ["read-only", "user"], "names of secrets")
    equal({(f["name"], f["path"]): f["secrets"] for f in drawn["fields"]}[("db", ".data.uri")], ["user"], "of the URI")
    t.run("upgrade", "db", "--rotate-secrets")
    check(data(t)["password"] not in (before["password"], after["password"]), "not rotated")
    check(data(t, "db-read-only")["password"] != other["password"], "the other user's password wasn't rotated")
    # A rollback brings a revision's secrets back, and the next upgrade keeps them.
    t.run("rollback", "db", "0")
    equal(data(t), before, "after the rollback")
    equal(t.run("upgrade", "db", "-o", "json").json["changed"], False, "after the rollback")
    # A rotation never brings back a secret that was in use before the rollback.
    t.run("upgrade", "db", "--rotate-secrets=user")
    check(data(t)["password"] not in (before["password"], after["password"]), "a password of before is back")
    drawn = t.run("inspect", "release", "db", "-o", "json").json["revisions"][0]["drawn"]
    equal(drawn["rotations"], {"user": 3}, "rotations after the rollback")


def days_ago(days):
    time = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=days)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def drawing():
    return str(built("tests/conformance/build.sh") / "go" / "drawn.wasm")


@test
def what_a_program_draws_without_a_name_stays(t):
    """Random bytes through WASI and a certificate, made by a language's own library."""
    package, seed = drawing(), t.file("seed", SEED)
    command = ["generate", "web", "-p", package, "--seed-file", seed, "-o", "json"]
    first = t.run(*command)
    equal(t.run(*command).out, first.out, "the second time")
    contains(first.out, "BEGIN CERTIFICATE", "BEGIN PRIVATE KEY")
    check(t.run(*command, "-n", "other").json != first.json, "another namespace has the same")

    installed = t.run("install", "web", "-p", package, "--clock", days_ago(25))
    contains(installed.err, "the certificate CN=web", "two thirds of its life are over")
    password, tls = data(t, "web"), data(t, "web-tls")
    drawn = t.run("inspect", "release", "web", "-o", "json").json["revisions"][0]["drawn"]
    equal({(f["name"], f["path"]) for f in drawn["fields"]},
          {("web", ".data.password"), ("web-tls", '.data["tls.crt"]'), ("web-tls", '.data["tls.key"]')}, "drawn fields")
    aging = t.run("status", "web", "-o", "json").json["certificates"]
    equal([(c["name"], c["path"], c["subject"], c["expired"]) for c in aging],
          [("web-tls", '.data["tls.crt"]', "CN=web", False)], "certificates to be renewed")
    equal(t.run("upgrade", "web", "-o", "json").json["changed"], False, "an upgrade with nothing new")

    # A plan that is saved and carried out keeps them too, and so does a diff.
    plan = str(t.dir / "web.plan")
    other_host = ["-s", "host=web.example.com"]
    contains(t.run("diff", "web", *other_host).out, "host: web.example.com", "web: 1 to change, 2 unchanged")
    shown = t.run("plan", "web", *other_host, "-o", plan)
    t.run("apply-plan", plan)
    equal((data(t, "web"), data(t, "web-tls")), (password, tls), "after the plan was carried out")
    equal(t.kube.get("ConfigMap", t.ns, "web")["data"], {"host": "web.example.com"})
    for text in (password["password"], tls["tls.key"].splitlines()[1]):
        check(text not in shown.out + shown.err, "the plan shows what was drawn")

    # Another clock makes another certificate, of the same key, and of nothing else.
    t.run("upgrade", "web", "--clock", "now")
    renewed = data(t, "web-tls")
    equal((renewed["tls.key"], data(t, "web")), (tls["tls.key"], password), "the key and the password")
    check(renewed["tls.crt"] != tls["tls.crt"], "the certificate is the old one")
    equal(t.run("status", "web", "-o", "json").json["certificates"], [], "certificates to be renewed")


@test
def a_plan_changes_what_was_drawn_only_when_asked(t):
    package, plan = drawing(), str(t.dir / "web.plan")
    t.run("install", "web", "-p", package)
    password, tls = data(t, "web"), data(t, "web-tls")
    longer = ["-s", "days=60"]
    for command in (["upgrade", "web", *longer], ["upgrade", "web", *longer, "--dry-run"]):
        t.refused(*command, says=[f'Secret {t.ns}/web-tls: .data["tls.crt"]', "--rotate-secrets"])
    # Who only looks is warned, and shown nothing that was drawn.
    for command in (["diff", "web", *longer], ["plan", "web", *longer]):
        looked = t.run(*command)
        contains(looked.err, "warning: ", '.data["tls.crt"]')
        for text in (password["password"], *tls["tls.crt"].splitlines()[1:3], tls["tls.key"].splitlines()[1]):
            check(text not in looked.out + looked.err, "it shows what was drawn")
    t.refused("plan", "web", *longer, "-o", plan, says=['.data["tls.crt"]', "--rotate-secrets"])
    equal((data(t, "web"), data(t, "web-tls")), (password, tls), "after what was refused")

    t.run("plan", "web", *longer, "--rotate-secrets", "-o", plan)
    t.run("apply-plan", plan)
    rotated = (data(t, "web"), data(t, "web-tls"))
    check(rotated[0] != password and rotated[1]["tls.key"] != tls["tls.key"], "nothing was rotated")
    equal(t.run("inspect", "release", "web", "-o", "json").json["revisions"][0]["drawn"]["rotations"], {"": 1})
    equal(t.run("upgrade", "web", "-o", "json").json["changed"], False, "the next upgrade")
    equal((data(t, "web"), data(t, "web-tls")), rotated, "after the next upgrade")


DRAWING_CHART = """apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {password: "{{ randAlphaNum 24 }}"}
"""


def drawing_charts(t):
    """A kustomization with three releases of two charts, which draw a password by the same template."""
    files = {f"charts/{chart}/{path}": text for chart in ("aa", "bb") for path, text in (
        ("Chart.yaml", f"apiVersion: v2\nname: {chart}\nversion: 1.0.0\n"), ("values.yaml", "{}\n"),
        ("templates/secret.yaml", DRAWING_CHART))}
    files["kustomization.yaml"] = ("helmCharts:\n- {name: aa, releaseName: one}\n- {name: aa, releaseName: two}\n"
                                   "- {name: bb, releaseName: three}\n")
    return t.files("drawing", files)


@test
def charts_of_a_kustomization_have_passwords_of_their_own(t):
    package = drawing_charts(t)
    t.run("install", "shop", "-p", package)
    first = {name: data(t, name)["password"] for name in ("one", "two", "three")}
    equal(len(set(first.values())), 3, "different passwords")
    equal(t.run("upgrade", "shop", "-o", "json").json["changed"], False, "an upgrade with nothing new")
    # As an older mistctl rendered it.
    seed = t.file("seed", SEED)
    generate = ["generate", "shop", "-p", package, "-o", "json"]
    shared = t.run(*generate, "--seed-file", seed)
    contains(shared.err, "draw from one seed", "charts/aa (release one)", "charts/bb (release three)", "--rotate-secrets")
    equal(len({item["stringData"]["password"] for item in shared.json["items"]}), 1, "passwords of an older seed file")
    own = t.run(*generate, "--seed-file", t.file("own", SEED.replace("{", '{"chartSeeds": "own", ')))
    check("draw from one seed" not in own.err, own.err)
    equal(len({item["stringData"]["password"] for item in own.json["items"]}), 3, "passwords of a newer one")


@test
def charts_draw_as_before_after_a_revision_that_drew_nothing(t):
    package = drawing_charts(t)
    quiet = t.files("quiet", {"kustomization.yaml": "resources: [map.yaml]\n",
                              "map.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: quiet}}\n"})
    # As of an older mistctl, and as of this one.
    for release, flags, different in (("old", ["--seed-file", t.file("seed", SEED)], 1), ("new", [], 3)):
        t.run("install", release, "-p", package, *flags)
        before = [data(t, name)["password"] for name in ("one", "two", "three")]
        equal(len(set(before)), different, f"passwords of {release}")
        t.run("upgrade", release, "-p", quiet)
        t.run("upgrade", release, "-p", package)
        equal([data(t, name)["password"] for name in ("one", "two", "three")], before, f"passwords of {release} again")
        t.run("uninstall", release, "--yes")


@test
def rotation_gives_the_charts_of_an_older_release_seeds_of_their_own(t):
    package = drawing_charts(t)
    names = ("one", "two", "three")
    t.run("install", "shop", "-p", package, "--seed-file", t.file("seed", SEED))
    # The release now remembers it, whatever the seed file says.
    before = {data(t, name)["password"] for name in names}
    equal(len(before), 1, "passwords of an older release")
    same = t.run("upgrade", "shop")
    contains(same.err, "draw from one seed")
    equal({data(t, name)["password"] for name in names}, before, "after an upgrade")
    rotated = t.run("upgrade", "shop", "--rotate-secrets")
    check("draw from one seed" not in rotated.err, rotated.err)
    after = {data(t, name)["password"] for name in names}
    equal(len(after), 3, "passwords after the rotation")
    check(before.isdisjoint(after), "an old password is still there")
    equal(t.run("upgrade", "shop", "-o", "json").json["changed"], False, "the next upgrade")
