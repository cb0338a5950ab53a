"""What users and clusters get wrong: exit code 1 (2 for the command line), clear words, nothing half-written."""
import base64
import json

from harness import check, config_map, contains, definition, equal, kubeconfig_text, refused_when_written, secret, test, workload


def nothing_was_written(t, release="shop"):
    equal((t.owned(release), t.record(release)), (set(), []), "written in spite of the error")


def without_progress(err):
    """Lines of what took long are not the same twice."""
    return [line for line in err.splitlines() if not line.startswith("… ")]


def refused_without_a_write(t, package, *says, arguments=(), **options):
    mark = t.mark()
    outcome = t.refused("install", "shop", "-p", package, *arguments, says=says, **options)
    equal([r for r in t.requests(mark) if r.writes], [], "writes of a command that was refused")
    return outcome


@test
def an_object_of_nobody_and_one_of_another_release(t):
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "theirs"}, "data": {"whose": "theirs"}})
    package = t.package("p", config_map("fine"),
                        "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\n")
    refused_without_a_write(t, package, "ConfigMap", "theirs", "00001.yaml:2", "belongs to no release", "try: ")
    equal(t.kube.get("ConfigMap", t.ns, "theirs")["data"], {"whose": "theirs"})
    t.run("install", "first", "-p", t.package("first", config_map("shared")))
    refused_without_a_write(t, t.package("q", config_map("shared")), f"belongs to release {t.ns}/first", "try: ")
    t.run("uninstall", "first", "--yes")


@test
def missing_namespaces(t):
    missing = t.namespace("missing", create=False)
    package = t.package("p", config_map("fine"))
    t.refused("install", "shop", "-n", missing, "-p", package, says=["does not exist", "--create-namespace"])
    # An object's own namespace is another matter: --create-namespace is for the release's.
    package_of_both = t.package("q", config_map("fine"), config_map("lost", namespace=missing))
    refused_without_a_write(t, package_of_both, f"the namespace of ConfigMap {missing}/lost does not exist", "00001.yaml:1",
                            f"kubectl create namespace {missing}")
    # Which one that the release brings is not.
    brought = t.package("r", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": missing}},
                        config_map("lost", namespace=missing))
    t.run("install", "shop", "-p", brought)
    t.run("uninstall", "shop", "--yes", "--delete-namespaces", "--wait")
    t.refused("install", "shop", "-n", "Not_A_Name", "-p", package, says=["Not_A_Name"], code=None)


@test
def broken_documents(t):
    broken = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n data: [\n"
    refused_without_a_write(t, t.package("broken", config_map("fine"), broken), "00001.yaml:5")
    refused_without_a_write(t, t.package("nameless", "apiVersion: v1\nkind: ConfigMap\n"), "00000.yaml:1", "metadata")
    refused_without_a_write(t, t.package("kindless", "apiVersion: v1\nmetadata: {name: a}\n"), "00000.yaml:1", "kind")
    refused_without_a_write(t, t.package("twice", config_map("a"), config_map("b"), config_map("a")),
                            "00002.yaml:5", "00000.yaml:1", "twice")
    refused_without_a_write(t, t.package("marked", config_map("a", labels={
        "applyset.kubernetes.io/part-of": "mine"})), "applyset.kubernetes.io/part-of", "00000.yaml:7")
    refused_without_a_write(t, t.package("unknown", {
        "apiVersion": "nobody.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}),
        "Thing", "nobody.example.com", "00000.yaml:1")
    refused_without_a_write(t, str(t.dir / "not-there"), "not-there")
    refused_without_a_write(t, "nowhere/a/b:1.0.0", "nowhere", "registry")


@test
def fields_that_the_schema_does_not_have(t):
    """Every problem of every object at once, before the first write: unknown fields, wrong types, other choices."""
    web = workload("Deployment", "web")
    del web["spec"]["replicas"]
    web["spec"]["replcas"] = 1
    late = workload("StatefulSet", "late", replicas="three")
    late["spec"]["template"]["spec"]["containers"][0].update({"imagePullPolicy": "always", "env": [{"name": "PORT", "value": 80}]})
    refusal = refused_without_a_write(
        t, t.package("p", config_map("fine"), web, late), "Deployment", "web", "spec.replcas", "did you mean replicas?",
        "at 00001.yaml:28:", "StatefulSet", "spec.replicas: it must be an integer, and is a string",
        "imagePullPolicy: it must be one of Always, IfNotPresent, Never (did you mean Always?)",
        "env[0].value: it must be a string, and is an integer", "try: see kubectl explain deployments.spec")
    check("three" not in refusal.err, refusal)
    nothing_was_written(t)
    # A chart's line is that of its template.
    chart = t.files("chart", {
        "Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
        "values.yaml": "count: 2\n",
        "templates/web.yaml": "{{- range until 3 }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: map-{{ . }}}\n---\n"
                              "{{- end }}\n" + json.dumps(workload("Deployment", "web")).replace(
                                  '"replicas": 1', '\n"replcas": {{ .Values.count }}\n') + "\n"})
    refused_without_a_write(t, str(chart), "templates/web.yaml:8", "spec.replcas", "did you mean replicas?")
    # An upgrade too, and what is right asks nothing of the schemas once they are known.
    t.run("install", "shop", "-p", t.package("r", config_map("fine"), workload("Deployment", "web")))
    mark = t.mark()
    t.refused("upgrade", "shop", "-p", t.package("q", config_map("fine", data={"a": "other"}), web), says=["spec.replcas"])
    equal([r for r in t.requests(mark) if r.writes], [], "writes of an upgrade that was refused")
    mark = t.mark()
    t.run("upgrade", "shop", "-p", t.package("r2", config_map("fine", data={"a": "b"}), workload("Deployment", "web")))
    equal([r for r in t.requests(mark) if "openapi" in r.uri], [], "schemas that were known")
    t.run("uninstall", "shop", "--yes")


NAMELESS = """apiVersion: v1
kind: ConfigMap
metadata: {name: first}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - image: example.com/web:1
"""


@test
def fields_that_are_required_are_missed_before_anything_is_written(t):
    said = refused_without_a_write(t, t.package("p", NAMELESS), "spec.selector: it is required, and missing",
                                   "00000.yaml:9:", "containers[0].name: it is required, and missing", "00000.yaml:14:")
    check("kubectl explain deployments.spec" in said.err, said)
    # A plan of it is refused with the same words.
    planned = without_progress(t.refused("plan", "shop", "-p", t.package("p", NAMELESS)).err)
    equal(planned, without_progress(t.refused("install", "shop", "-p", t.package("p", NAMELESS), "--dry-run").err))
    # What is required and has a default, or is as good as nothing, is not missed: neither where the server can be
    # asked nor in a namespace that comes with the release.
    web = workload("Deployment", "web")
    web["spec"]["template"]["spec"]["containers"][0].update(
        ports=[{"containerPort": 80}], livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "x"}]}})
    web["metadata"]["namespace"] = other = t.namespace("new", create=False)
    t.claim_namespace(other)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}
    t.run("install", "fine", "-p", t.package("q", space, web))
    t.run("uninstall", "fine", "--yes")


@test
def required_fields_of_a_kind_with_defaults_are_not_missed(t):
    kind = definition("sized.example.com", "sizeds", "Sized", {
        "type": "object", "properties": {"spec": {"type": "object", "required": ["size", "color"], "properties": {
            "size": {"type": "integer", "default": 3}, "color": {"type": "string"}}}}})
    t.run("install", "kinds", "-p", t.package("kinds", kind), "--wait")
    made = {"apiVersion": "sized.example.com/v1", "kind": "Sized", "metadata": {"name": "one"}}
    t.run("install", "good", "-p", t.package("good", {**made, "spec": {"color": "red"}}))
    bad = t.package("bad", {**made, "metadata": {"name": "two"}, "spec": {"size": 1}})
    # What the server publishes of a kind follows it by a moment.
    t.kube.wait("it is missed", lambda: "spec.color: it is required, and missing" in t.run(
        "install", "shop", "-p", bad, "--dry-run", code=None).err)
    refused_without_a_write(t, bad, "spec.color: it is required, and missing")
    t.run("uninstall", "good", "--yes", "--wait")
    t.run("uninstall", "kinds", "--yes", "--delete-crds")


BELOW = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas:
    {}
  selector:
    matchLabels:
      app:
        {}
  template:
    metadata:
      labels:
        app:
          {}
    spec:
      containers:
        - name: main
          image:
            example.com/main:1
"""


@test
def a_field_is_named_by_the_line_of_its_key(t):
    t.run("install", "shop", "-p", t.package("p", BELOW.format(1, "web", "web")))
    contains(t.run("diff", "shop", "-p", t.package("p", BELOW.format(2, "web", "web"))).out, "00000.yaml:6")
    # What can't be changed in place stands where the field stands, and not at the object's first line.
    t.refused("upgrade", "shop", "-p", t.package("p", BELOW.format(1, "api", "api")),
              says=["spec.selector", "at 00000.yaml:"])
    said = t.refused("upgrade", "shop", "-p", t.package("p", BELOW.format(1, "api", "api"))).err
    check("at 00000.yaml:1\n" not in said and any(f"at 00000.yaml:{line}" in said for line in (8, 9, 10)), said)
    # The same where another manager owns a field.
    t.kube.checked("PATCH", t.kube.path("Deployment", t.ns, "web") + "?fieldManager=scaler", {"spec": {"replicas": 3}},
                   "application/merge-patch+json")
    said = t.refused("upgrade", "shop", "-p", t.package("p", BELOW.format(2, "web", "web"))).err
    contains(said, "scaler", "at 00000.yaml:6")


@test
def fields_that_the_server_refuses(t):
    """Known before anything is written; or found out in the middle: the rest is written, recorded, and taken over by the
    next try."""
    bad = workload("Deployment", "web")
    bad["spec"]["replicas"] = -1
    t.refused("install", "shop", "-p", t.package("p", config_map("fine"), bad),
              says=["Deployment", "web", "replicas", "at 00001.yaml:28:15", "try: "])
    nothing_was_written(t)
    late = refused_when_written(t, "late", "ConfigMap/fine")
    failed = t.refused("install", "shop", "-p", t.package("p", config_map("fine"), late),
                       says=["Lease", "refused when it was written", "at 00001.yaml:", "try: "])
    check(not t.lock("shop"), "still locked")
    status = t.run("status", "shop", "-o", "json").json
    equal((status["status"], status["deployedRevision"]), ("failed", None), failed)
    t.run("install", "shop", "-p", t.package("r", config_map("fine"), workload("Deployment", "web")), "--wait")
    t.run("uninstall", "shop", "--yes")
    nothing_was_written(t)


@test
def an_admission_policy_refuses_with_its_own_words(t):
    name = f"{t.ns}-policy"
    policy = {"metadata": {"name": name}, "spec": {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                                                "operations": ["CREATE", "UPDATE"]}],
                             "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": t.ns}}},
        "validations": [{"expression": "object.metadata.name != 'forbidden'",
                         "message": "the house doesn't allow this name"}]}}
    t.kube.create("ValidatingAdmissionPolicy", None, policy)
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicy", None, name))
    t.kube.create("ValidatingAdmissionPolicyBinding", None, {
        "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}})
    t.cleanup(lambda: t.kube.delete("ValidatingAdmissionPolicyBinding", None, name))

    def enforced():
        status, _ = t.kube.request("POST", t.kube.path("ConfigMap", t.ns) + "?dryRun=All",
                                   {"metadata": {"name": "forbidden"}})
        return status in (403, 422)

    t.kube.wait("the policy is enforced", enforced)
    package = t.package("p", config_map("fine"), config_map("forbidden"))
    t.refused("install", "shop", "-p", package, "--dry-run=server", says=["the house doesn't allow this name"])
    nothing_was_written(t)
    t.refused("install", "shop", "-p", package,
              says=["ConfigMap", "forbidden", "the house doesn't allow this name", "try: "])
    nothing_was_written(t)


def as_user(t, token, name):
    return t.file(f"kubeconfig-{name}", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))


@test
def a_user_without_rights(t):
    user, token = t.identity("nobody")
    kubeconfig = as_user(t, token, "nobody")
    package = t.package("p", config_map("fine"))
    for command in (["install", "shop", "-p", package], ["list"], ["list", "-A"], ["status", "shop"],
                    ["uninstall", "shop", "--yes"]):
        t.refused(*command, kubeconfig=kubeconfig, says=["secrets", "forbidden", user])
    nothing_was_written(t)


@test
def a_user_with_just_enough_rights(t):
    """No rights on Namespaces, none to list ConfigMaps, none beyond this namespace: install and the rest still work."""
    user, token = t.identity("some")
    kubeconfig = as_user(t, token, "some")
    _, namespace, name = user.rsplit(":", 2)
    writes = ["get", "create", "patch", "delete"]
    t.kube.create("Role", t.ns, {"metadata": {"name": "some"}, "rules": [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": [*writes, "list", "watch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": writes}]})
    t.kube.create("RoleBinding", t.ns, {
        "metadata": {"name": "some"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}]})
    package = t.package("p", *(config_map(f"c{i}") for i in range(6)))
    t.run("install", "shop", "-p", package, kubeconfig=kubeconfig)
    t.run("status", "shop", kubeconfig=kubeconfig)
    less = t.package("less", *(config_map(f"c{i}") for i in range(3)))
    contains(t.run("upgrade", "shop", "-p", less, kubeconfig=kubeconfig).out, "3 unchanged, 3 deleted")
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    t.refused("upgrade", "shop", "-p", t.package("more", config_map("c0"), service), kubeconfig=kubeconfig,
              says=["services", "forbidden"])
    t.run("uninstall", "shop", "--yes", kubeconfig=kubeconfig)
    nothing_was_written(t)


@test
def who_may_look_at_a_part_sees_that_part(t):
    """A release with objects that this user can't read: status and drift show the rest, and who writes is refused."""
    user, token = t.identity("part")
    kubeconfig = as_user(t, token, "part")
    t.kube.create("Role", t.ns, {"metadata": {"name": "part"}, "rules": [
        {"apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": ["*"]}]})
    t.kube.create("RoleBinding", t.ns, {
        "metadata": {"name": "part"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "part"},
        "subjects": [{"kind": "User", "name": user}]})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    t.run("install", "shop", "-p", t.package("p", config_map("settings", {"a": "1"}), service))
    seen = t.run("status", "shop", "-o", "json", kubeconfig=kubeconfig).json["objects"]
    equal({o["kind"]: (o["health"], o["detail"]) for o in seen},
          {"ConfigMap": ("ready", None), "Service": ("unknown", "you may not read it")})
    contains(t.run("drift", "shop", "--exit-code", kubeconfig=kubeconfig).out, "1 object is as v0 recorded it",
             "1 object could not be looked at")
    t.run("drift", "shop", "--exit-code", "--strict", kubeconfig=kubeconfig, code=3)
    t.kube.patch("ConfigMap", t.ns, "settings", {"data": {"a": "9"}})
    t.run("drift", "shop", "--exit-code", kubeconfig=kubeconfig, code=3)
    t.refused("drift", "shop", "--fix", kubeconfig=kubeconfig, says=["services", "forbidden", user])
    t.refused("uninstall", "shop", "--yes", kubeconfig=kubeconfig, says=["services", "forbidden", user])
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"a": "9"})


@test
def the_command_line(t):
    package = t.package("p", config_map("fine"))
    for arguments, words in (
            (["install", "shop"], ["--package"]), (["install", "-p", package], ["NAME"]),
            (["instal", "shop"], ["install"]), (["install", "shop", "-p", package, "--wiat"], ["--wait"]),
            (["install", "shop", "-p", package, "--timeout", "soon"], ["--timeout", "soon"]),
            (["install", "shop", "-p", package, "--dry-run=maybe"], ["maybe", "client"])):
        mark = t.mark()
        t.refused(*arguments, code=2, says=words)
        equal(t.requests(mark), [], "requests of a wrong command line")
    t.refused("install", "Not_A_Name", "-p", package, says=["Not_A_Name"], code=None)
    nothing_was_written(t)


@test
def nothing_secret_is_ever_printed(t):
    package = t.package("p", secret("hidden", "do-not-print-me"), config_map("fine"))
    changed = t.package("changed", secret("hidden", "nor-this-one"), config_map("fine"))
    refused = t.package("refused", {**secret("hidden", "not-even-broken"), "type": "kubernetes.io/tls"})
    outcomes = [t.run("-vv", *arguments, code=None) for arguments in (
        ["install", "shop", "-p", package], ["install", "shop", "-p", package],
        ["upgrade", "shop", "-p", changed, "--dry-run", "-o", "json"], ["upgrade", "shop", "-p", changed],
        ["upgrade", "shop", "-p", refused], ["status", "shop", "-o", "yaml"], ["list", "-o", "json"],
        ["inspect", "release", "shop", "-o", "json"], ["inspect", "release", "shop"], ["uninstall", "shop", "--yes"])]
    equal([outcome.code for outcome in outcomes], [0, 1, 0, 0, 1, 0, 0, 0, 0, 0], "exit codes")
    values = ["do-not-print-me", "nor-this-one", "not-even-broken"]
    words = values + [base64.b64encode(value.encode()).decode() for value in values] + [t.token, "Bearer ey"]
    for outcome in outcomes:
        for word in words:
            check(word not in outcome.out + outcome.err, f"{word[:40]!r} is printed by:", outcome)
    t.run("install", "shop", "-p", package)
    shown = t.run("inspect", "release", "shop", "--show-secrets")
    check(words[3] in shown.out or values[0] in shown.out, "--show-secrets shows them:", shown)


@test
def the_ten_errors_that_everybody_meets(t):
    """Each says what failed, where, why and what to do, as text and as JSON."""
    package = t.package("p", config_map("mine"))
    t.run("install", "web", "-p", package)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "theirs"}})
    user, token = t.identity("reader")
    values = t.file("values.yaml", "web:\n\treplicas: 3\n")
    nobody = as_user(t, token, "reader")
    dead = t.file("kubeconfig-dead", kubeconfig_text("https://127.0.0.1:1", {}, namespace=t.ns))
    t.kube.request("PATCH", t.kube.path("ConfigMap", t.ns, "mine") + "?fieldManager=somebody&force=true",
                   {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"key": "other"}},
                   "application/apply-patch+yaml")
    conflicting = t.package("conflict", config_map("mine", {"key": "again"}))
    table = [
        # command, kubeconfig, what the message names, where and why, what to do
        (["list", "--context", "nope"], None, ['the context "nope" is not in', "known: c"], ["use --context c"]),
        (["list", "--kubeconfig", "/nowhere"], None, ["/nowhere", "No such file"], ["--kubeconfig"]),
        (["install", "shop", "-p", package], nobody, ["secrets", "forbidden", user], ["administrator"]),
        (["install", "shop", "-n", f"{t.ns}-missing", "-p", package], None, [f"{t.ns}-missing does not exist"],
         ["--create-namespace"]),
        (["install", "shop", "-p", "nowhere/a:1.0.0"], None, ["no registry named nowhere"], ["mistctl registry add nowhere"]),
        (["install", "web", "-p", package], None, [f"release {t.ns}/web exists already"], ["mistctl upgrade web"]),
        (["status", "shop"], None, [f"release {t.ns}/shop does not exist"], ["mistctl list"]),
        (["install", "shop", "-p", package, "-f", values], None, ["values.yaml:2:1", "a tab is used"],
         ["only spaces"]),
        (["list"], dead, ["nothing listens at 127.0.0.1:1", "connection refused", "(context c)"], ["check that the server runs"]),
        (["upgrade", "web", "-p", conflicting], None, ["ConfigMap", "mine", ".data.key", "somebody", "00000.yaml:8:"],
         ["--force-conflicts"]),
        (["install", "shop", "-p", t.package("q", config_map("theirs"))], None,
         [f"ConfigMap {t.ns}/theirs exists already and belongs to no release", "00000.yaml:1"], ["--adopt"]),
        (["install", "Web_Shop", "-p", package], None, ['"Web_Shop" is not a release name', "lower-case"], ["call it web-shop"]),
        (["apply-plan", "nowhere.plan"], None, ["nowhere.plan", "No such file"], ["mistctl plan NAME -o nowhere.plan"]),
    ]
    for command, kubeconfig, says, hint in table:
        options = {"kubeconfig": kubeconfig} if kubeconfig else {}
        text = t.run(*command, code=None, **options)
        check(text.code in (1, 2) and text.err.count("error: ") == 1, text)
        contains(text.err, *says)
        contains(text.err.split("try: ")[-1], *hint)
        failed = t.run(*command, "-o", "json", code=text.code, **options)
        error = json.loads(failed.err.strip().splitlines()[-1])["error"]
        contains(error["hint"], *hint)
        equal(failed.out, "", "what a failed command prints")
