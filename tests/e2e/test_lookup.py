"""What a package may read of the cluster: what its release owns, and what its user granted by name."""
import json

from harness import check, config_map, contains, equal, secret, test
from test_calls import built, caller, calls
from test_charts import chart

VALUE = "s3cr3t-of-somebody"
READS = '{{ (lookup "v1" "%s" .Release.Namespace "%s" | default dict).data | toJson | quote }}'


def reads(kind, name):
    """A chart that puts what it reads into a ConfigMap."""
    return config_map("got", {"data": READS % (kind, name)})


def raw(t, text, name="reader"):
    return chart(t, name=name, files={"templates/all.yaml": text})


GOT = """apiVersion: v1
kind: ConfigMap
metadata: {name: got}
data:
  got: 'it is {{ (lookup "v1" "%s" .Release.Namespace "%s").data }}'
"""


def decoded(name, key="value"):
    return f"""apiVersion: v1
kind: ConfigMap
metadata: {{name: got}}
data:
  got: 'dsn://{{{{ index (lookup "v1" "Secret" .Release.Namespace "{name}").data "{key}" | b64dec }}}}@db'
"""


def put(t, item):
    t.run("install", f"of-{item['metadata']['name']}", "-p", t.package(f"of-{item['metadata']['name']}", item))


@test
def a_lookup_without_a_grant_reads_nothing_of_others(t):
    put(t, secret("theirs", VALUE))
    put(t, config_map("settings", {"a": "1"}))
    refused = t.refused("install", "reader", "-p", raw(t, GOT % ("Secret", "theirs")),
                        says=[f"--allow-lookup-secrets {t.ns}/theirs", "Secret theirs"])
    check(VALUE not in refused.err + refused.out, refused)
    t.refused("diff", "reader", "-p", raw(t, GOT % ("Secret", "theirs")), says=["--allow-lookup-secrets"], code=None)
    t.refused("install", "reader", "-p", raw(t, GOT % ("ConfigMap", "settings")),
              says=[f"--allow-lookup {t.ns}/ConfigMap/settings"])
    # A grant of everything is none of Secrets, and none of records.
    t.refused("install", "reader", "-p", raw(t, GOT % ("Secret", "theirs")), "--allow-lookup", "*",
              says=["--allow-lookup-secrets"])
    t.refused("install", "reader", "-p", raw(t, GOT % ("Secret", "mistletoe.of-theirs")), "--allow-lookup", "*",
              "--allow-lookup-secrets", "*", says=["the record of a release"])
    # What isn't there is nobody's.
    t.run("install", "reader", "-p", raw(t, GOT % ("Secret", "reader")))


@test
def a_lookup_keeps_the_own_password_of_a_chart(t):
    template = """{{- $old := (lookup "v1" "Secret" .Release.Namespace "pass").data | default dict }}
apiVersion: v1
kind: Secret
metadata: {name: pass}
data: {password: {{ $old.password | default (b64enc .Values.first) }}}
"""
    package = chart(t, files={"templates/a.yaml": template, "values.yaml": "first: one-password\n"})
    t.run("install", "shop", "-p", package)
    equal(t.run("upgrade", "shop", "-p", package, "--set", "first=two-password").code, 0)
    shown = t.run("inspect", "release", "shop", "--only", "manifest", "--show-secrets").out
    contains(shown, "b25lLXBhc3N3b3Jk")


@test
def a_lookup_grant_is_exact_remembered_and_taken_back(t):
    put(t, config_map("settings", {"a": "1"}))
    put(t, config_map("others", {"a": "1"}))
    package = raw(t, GOT % ("ConfigMap", "settings"))
    t.run("install", "reader", "-p", package, "--allow-lookup", f"{t.ns}/ConfigMap/settings")
    contains(t.run("status", "reader").out, f"{t.ns}/ConfigMap/settings")
    equal(t.run("status", "reader", "-o", "json").json["allowLookup"], [f"{t.ns}/ConfigMap/settings"])
    contains(t.run("plan", "reader", "-p", package).out, f"{t.ns}/ConfigMap/settings")
    t.run("upgrade", "reader", "-p", package)
    t.refused("upgrade", "reader", "-p", raw(t, GOT % ("ConfigMap", "others"), "second"),
              says=[f"--allow-lookup {t.ns}/ConfigMap/others"])
    t.refused("upgrade", "reader", "-p", package, "--revoke-lookup", says=["--allow-lookup"])
    t.run("upgrade", "reader", "-p", t.package("plain", config_map("got", {"a": "1"})), "--revoke-lookup")
    equal(t.run("status", "reader", "-o", "json").json["allowLookup"], [])
    t.refused("upgrade", "reader", "-p", package, says=["--allow-lookup"])


@test
def what_a_lookup_of_a_granted_secret_found_is_shown_nowhere(t):
    put(t, secret("theirs", VALUE))
    item = json.loads(json.dumps(secret("theirs", VALUE)))
    key = next(iter(item.get("stringData") or item["data"]))
    grant = ["--allow-lookup-secrets", f"{t.ns}/theirs"]
    package = raw(t, decoded("theirs", key))

    def hides(outcome):
        check(VALUE not in outcome.out + outcome.err, outcome)
        return outcome

    for command in (["diff"], ["diff", "-o", "json"], ["plan"], ["plan", "--output", "json"],
                    ["install", "--dry-run", "-o", "json"], ["install", "-v", "--explain"]):
        hides(t.run(command[0], "reader", "-p", package, *command[1:], *grant, code=None))
    contains(t.run("inspect", "release", "reader", "--only", "manifest", "--show-secrets").out, VALUE)
    for command in (["inspect", "release", "reader"], ["inspect", "release", "reader", "--only", "manifest"],
                    ["status", "reader", "-o", "json"], ["history", "reader", "-o", "json"]):
        hides(t.run(*command))
    # What a later revision no longer has was known to the one before.
    plain = t.package("plain", config_map("got", {"got": "nothing"}))
    for output in ("table", "json"):
        contains(hides(t.run("diff", "reader", "-p", plain, "-o", output, code=None)).out, "***")
    # What a template says of it when it fails, and what the server quotes.
    fails = 'a: {{ fail (index (lookup "v1" "Secret" .Release.Namespace "theirs").data "%s" | b64dec) }}\n' % key
    hides(t.run("upgrade", "reader", "-p", raw(t, fails, "fails"), "-v", code=1))
    wrong = decoded("theirs", key).replace("{name: got}", '{name: got, labels: {a: "{{ index (lookup "v1" "Secret" '
                                           '.Release.Namespace "theirs").data "%s" | b64dec }}!/"}}' % key)
    hides(t.run("upgrade", "reader", "-p", raw(t, wrong.replace("labels: {a: \"", "labels: {a: '").replace('!/"}', "!/'}"),
                                                "wrong"), "-v", code=1))


@test
def what_is_only_a_test_or_hook_of_a_chart_lets_it_read_nothing(t):
    """--adopt answers what it takes; hooks and tests take nothing."""
    other = t.namespace("other")
    t.kube.create("Secret", other, secret("victim", VALUE))
    for hook in ("test", "post-delete"):
        bait = f"""apiVersion: v1
kind: ConfigMap
metadata: {{name: got}}
data:
  got: '{{{{ (lookup "v1" "Secret" "{other}" "victim").data }}}}'
---
apiVersion: v1
kind: Secret
metadata:
  name: victim
  namespace: {other}
  annotations: {{helm.sh/hook: {hook}}}
"""
        for verb in ("install", "diff"):
            refused = t.refused(verb, "reader", "-p", raw(t, bait), *(["--adopt"] if verb == "install" else []), code=None,
                                says=[f"--allow-lookup-secrets {other}/victim"])
            check(VALUE not in refused.out + refused.err, refused)
    check(t.kube.get("ConfigMap", t.ns, "got") is None, "nothing was written")


def looker(t, reads, needs=()):
    """A WebAssembly package that looks up `reads`, (kind, namespace, name or None for all); flags for its install."""
    metadata = t.file("looker.yaml", json.dumps({
        "apiVersion": "mistletoe.dev/v1", "kind": "MistPackage", "metadata": {"name": "looker"},
        "spec": {"version": "0.1.0", "needs": {"clusterRead": list(needs)}}}))
    target = str(t.dir / "looker.wasm")
    t.run("package", "build", str(built("tests/conformance/build.sh") / "rust/looker.wasm"), "-m", metadata, "-o", target)
    wanted = [{"apiVersion": "v1", "kind": kind, "namespace": ns, **({"name": name} if name else {})}
              for kind, ns, name in reads]
    return ["-p", target, "--set-json", "reads=" + json.dumps(wanted)]


def found(t, release):
    data = t.kube.get("ConfigMap", t.ns, f"{release}-found")["data"]
    return [json.loads(data[key]) for key in sorted(data)]


@test
def a_lookup_of_a_program_needs_its_declaration_and_its_users_grant(t):
    put(t, config_map("settings", {"a": "1"}))
    put(t, config_map("others", {"a": "2"}))
    reads = [("ConfigMap", t.ns, "settings")]
    grant = ["--allow-lookup", f"{t.ns}/ConfigMap/settings"]
    t.refused("install", "reader", *looker(t, reads), *grant, says=["spec.needs.clusterRead", "./ConfigMap/settings"])
    declared = looker(t, reads, ["./ConfigMap/settings"])
    t.refused("install", "reader", *declared, says=[f"--allow-lookup {t.ns}/ConfigMap/settings"])
    check(t.kube.get("ConfigMap", t.ns, "reader-found") is None, "nothing was written")
    t.run("install", "reader", *declared, *grant)
    equal(found(t, "reader"), [{"a": "1"}])
    # What it reads changes what it renders.
    t.run("upgrade", "of-settings", "-p", t.package("of-settings", config_map("settings", {"a": "3"})))
    t.run("upgrade", "reader", *declared)
    equal(found(t, "reader"), [{"a": "3"}])
    # A declaration is no grant of more, and what isn't there is nobody's.
    t.refused("upgrade", "reader", *looker(t, [("ConfigMap", t.ns, "others")], ["./ConfigMap/settings"]),
              says=[f"--allow-lookup {t.ns}/ConfigMap/others"])
    t.run("upgrade", "reader", *looker(t, [("ConfigMap", t.ns, "missing"), ("ConfigMap", "", "settings")]))
    equal(found(t, "reader"), [None, None])


@test
def a_lookup_of_a_program_sees_its_own_objects_in_lists_too(t):
    reads = [("ConfigMap", t.ns, "reader-found"), ("Secret", t.ns, None)]
    t.run("install", "reader", *looker(t, reads))
    equal(found(t, "reader"), [None, []])
    t.run("upgrade", "reader", *looker(t, reads))
    equal(found(t, "reader"), [{"read-0": "null", "read-1": "[]"}, []])
    put(t, secret("theirs", VALUE))
    refused = t.refused("upgrade", "reader", *looker(t, reads, ["./Secret"]), says=["--allow-lookup-secrets"])
    check(VALUE not in refused.out + refused.err, refused)


@test
def a_lookup_of_a_program_without_a_cluster_finds_nothing(t):
    package = looker(t, [("ConfigMap", "anywhere", "settings"), ("ConfigMap", "", None)])
    shown = t.run("generate", "reader", *package).out
    contains(shown, 'read-0: "null"')
    contains(shown, "read-1: '[]'")


@test
def a_called_package_looks_up_with_its_own_declaration(t):
    put(t, config_map("settings", {"a": "1"}))
    package = looker(t, [("ConfigMap", t.ns, "settings")], ["./ConfigMap/settings"])
    values = json.loads(package[3].removeprefix("reads="))
    caller(t, "platform", {"looker": "./looker.wasm"}, folder=".")
    install = ["-p", str(t.dir / "platform.wasm"), *calls(("looker", {"reads": values}))]
    t.refused("install", "shop", *install, says=[f"--allow-lookup {t.ns}/ConfigMap/settings"])
    t.run("install", "shop", *install, "--allow-lookup", f"{t.ns}/ConfigMap/settings")
    equal(found(t, "shop-looker"), [{"a": "1"}])
