"""A chart on a real cluster: its hooks run around every verb and leave nothing, its CRDs are upgraded if they
fit what is there, and what it draws stays."""
import json
import pathlib
import shutil
import signal

import alertmanager
from harness import check, config_map, contains, definition, equal, test


def chart(t, *objects, version="0.1.0", name="chart", crds=(), files=None):
    """A chart with one template an object, `crds` in crds/, and `files`: {path: text}."""
    directory = pathlib.Path(t.dir) / "packages" / name
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "templates").mkdir(parents=True)
    (directory / "Chart.yaml").write_text(f"{{apiVersion: v2, name: chart, version: {version}}}\n")
    for number, item in enumerate(objects):
        (directory / "templates" / f"{number:05}.yaml").write_text(json.dumps(item, indent=1))
    for number, item in enumerate(crds):
        (directory / "crds").mkdir(exist_ok=True)
        (directory / "crds" / f"{number:05}.yaml").write_text(json.dumps(item, indent=1))
    for path, text in (files or {}).items():
        (directory / path).write_text(text)
    return str(directory)


def hook(name, events, state=None, log=None, weight=0, policy=None, log_policy=None):
    annotations = {"helm.sh/hook": events, "helm.sh/hook-weight": str(weight)}
    if policy:
        annotations["helm.sh/hook-delete-policy"] = policy
    if log_policy:
        annotations["helm.sh/hook-output-log-policy"] = log_policy
    dev = {f"mistletoe.dev/dev-{key}": value for key, value in [("state", state), ("log", log)] if value}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "annotations": annotations},
            "spec": {"backoffLimit": 0,
                     "template": {"metadata": {"annotations": dev},
                                  "spec": {"restartPolicy": "Never",
                                           "containers": [{"name": "main", "image": "example.com/hook:1"}]}}}}


def written(t, mark):
    """What was applied and deleted since, in this order: "+name", "-name"."""
    return [("-" if r.verb == "delete" else "+") + r.name for r in t.requests(mark)
            if r.writes and r.verb in ("patch", "delete") and r.name and not r.name.startswith("mistletoe.")]


BAD = """{{- if true }}
{{- $replicas := -3 }}

apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: {{ $replicas }}
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec: {containers: [{name: main, image: i}]}
{{- end }}
"""


@test
def what_the_server_refuses_is_shown_in_the_template(t):
    package = chart(t, config_map("settings"), files={"templates/bad.yaml": BAD})
    for how in (["--dry-run=server"], []):
        refused = t.refused("install", "shop", "-p", package, *how, says=["spec.replicas", "at templates/bad.yaml:8", "replicas: {{ $replicas }}"])
        check("(rendered)" not in refused.err, refused)
    equal(t.record("shop"), [], "a record of what was refused")
    # What is looked up may be another thing by now, which changes nothing about the line.
    looks = BAD.replace("-3", '(lookup "v1" "ConfigMap" .Release.Namespace "none" | len | add -3)')
    package = chart(t, config_map("settings"), files={"templates/bad.yaml": looks})
    t.refused("install", "shop", "-p", package, says=["at templates/bad.yaml:8"])


LINES = """{{/* A comment
     of two lines */}}
{{- $labels := dict "app" "x" }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels:
    {{- toYaml $labels | nindent 4 }}
data:
  {{- range $i, $word := .Values.words }}
  word{{ $i }}: {{ $word }}
  {{- end }}
  {{- include "more" . | nindent 2 }}

  last: {{ .Values.last | quote }}
"""
MORE = '{{- define "more" -}}\nincluded: {{ .Values.last | quote }}\n{{- end -}}\n'


@test
def a_difference_names_the_line_of_the_template_that_wrote_it(t):
    values = {"values.yaml": "words: [a, b]\nlast: c\n", "templates/lines.yaml": LINES, "templates/_h.tpl": MORE}
    package = chart(t, files=values)
    t.run("install", "shop", "-p", package)
    change = ["upgrade", "shop", "-p", package, "--set", "words={a,z}", "--set", "last=d"]
    diff = t.run("diff", "shop", "-p", package, *change[4:]).out
    contains(diff, "word1: z  # templates/lines.yaml:12", "last: d  # templates/lines.yaml:16",
             "included: d  # templates/lines.yaml:14", "(templates/lines.yaml:4)")
    fields = [field for object in json.loads(t.run("diff", "shop", "-p", package, *change[4:], "-o", "json").out)["objects"]
              for field in object["fields"]]
    equal({field["path"]: field["line"] for field in fields}, {".data.word1": 12, ".data.last": 16, ".data.included": 14})
    contains(t.run(*change, "--dry-run", "--explain").out, ".data.word1  (templates/lines.yaml:12)")
    events = [json.loads(line) for line in t.run(*change, "--events", "jsonl").err.splitlines()]
    planned = [field for event in events if event.get("event") == "plan" for object in event["objects"] for field in object["fields"]]
    equal({field["path"]: (field["file"], field["line"]) for field in planned if field["path"] == ".data.last"},
          {".data.last": ("templates/lines.yaml", 16)})


@test
def a_deep_template_is_named_by_its_own_line(t):
    """alertmanager's image stands far behind the line that it is rendered to: diff, plans, events and refusals say the template's."""
    package = t.files("alertmanager", alertmanager.FILES)
    line = alertmanager.line_of(alertmanager.IMAGE)
    place = f"templates/statefulset.yaml:{line}"
    rendered = t.run("generate", "am", "-p", package).out.splitlines()
    check(all(text.strip() != 'image: "example.com/alertmanager:v0.28.0"' for text in rendered[line - 9:line + 8]),
          "the rendered line is another one")
    t.run("install", "am", "-p", package)
    change = ["-p", package, "--set", "image.tag=v0.29.0"]
    contains(t.run("diff", "am", *change).out, f"image: example.com/alertmanager:v0.29.0  # {place}")
    fields = [field for object in t.run("diff", "am", *change, "-o", "json").json["objects"] for field in object["fields"]]
    equal([field["line"] for field in fields if field["path"].endswith(".image")], [line])
    contains(t.run("upgrade", "am", *change, "--dry-run", "--explain").out, f".image  ({place})")
    events = [json.loads(text) for text in t.run("upgrade", "am", *change, "--events", "jsonl").err.splitlines()]
    planned = [field for event in events if event.get("event") == "plan" for object in event["objects"] for field in object["fields"]]
    equal([(field["file"], field["line"]) for field in planned if field["path"].endswith(".image")],
          [("templates/statefulset.yaml", line)])
    # Before anything is written, and by the server.
    refused = t.refused("upgrade", "am", "-p", package, "--set", "image.repository=", says=[f"at {place}", "image"])
    check("(rendered)" not in refused.err, refused)
    replicas = alertmanager.line_of("  replicas:")
    t.refused("upgrade", "am", "-p", package, "--set", "replicaCount=-1",
              says=["spec.replicas", f"at templates/statefulset.yaml:{replicas}"])


@test
def what_has_no_line_of_a_template_says_that_it_is_rendered(t):
    package = t.files("base", {"kustomization.yaml": "resources: [a.yaml]\nnamePrefix: x-\n",
                               "a.yaml": "# one\n# two\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: a}\n"})
    t.run("install", "shop", "-p", package)
    t.file(pathlib.Path(package) / "a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: b}\n")
    diff = t.run("diff", "shop", "-p", package).out
    check("(rendered)" in diff and "a.yaml:" not in diff, diff)


@test
def what_a_revision_was_given_and_what_it_was_can_be_printed(t):
    package = chart(t, config_map("settings", {"size": "{{ .Values.size }}"}), files={"values.yaml": "# how large\nsize: 1\n"})
    t.run("install", "shop", "-p", package, "--set", "size=2")
    t.run("upgrade", "shop", "-p", package, "--set", "size=3")
    equal(t.run("inspect", "release", "shop", "--only", "values").out, "size: 3\n")
    equal(t.run("inspect", "release", "shop", "--only", "values", "--revision", "v0").out, "size: 2\n")
    before = t.run("inspect", "release", "shop", "--only", "manifest", "--revision", "v0").out
    contains(before, "size: \"2\"")
    equal(t.run("inspect", "package", package, "--only", "values").out, "# how large\nsize: 1\n")
    t.refused("inspect", "release", "shop", "--revision", "v7", says=["has no revision v7", "mistctl history shop"])


@test
def hooks_of_a_chart_run_around_every_verb(t):
    hooks = [hook("second", "pre-install", weight=5), hook("first", "pre-install,pre-rollback", weight=-5),
             hook("migrate", "pre-upgrade", policy="hook-succeeded"), hook("after", "post-install,post-upgrade"),
             hook("ask", "pre-delete"), hook("sweep", "post-delete")]
    package = chart(t, config_map("settings", {"a": "1"}), *hooks)
    mark = t.mark()
    t.run("install", "shop", "-p", package)
    equal(written(t, mark), ["+first", "+second", "+settings", "+after"])
    contains(t.run("graph", "shop").out, "pre-install hook, weight -5")
    status = t.run("status", "shop", "-o", "json").json
    equal({o["name"]: (o["health"], o["hook"]) for o in status["objects"]},
          {"settings": ("ready", False), "first": ("ready", True), "second": ("ready", True), "after": ("ready", True)})

    mark = t.mark()
    contains(t.run("upgrade", "shop", "-p", package).out, "nothing was written")
    equal(written(t, mark), [], "an upgrade with nothing new runs no hooks")

    mark = t.mark()
    t.run("upgrade", "shop", "-p", chart(t, config_map("settings", {"a": "2"}), *hooks))
    equal(written(t, mark), ["+migrate", "-migrate", "+settings", "-after", "+after"])
    equal(t.run("drift", "shop", "--exit-code").code, 0)

    mark = t.mark()
    t.run("rollback", "shop")
    equal(written(t, mark), ["-first", "+first", "+settings"])

    mark = t.mark()
    t.run("uninstall", "shop", "--yes", "--wait")
    done = written(t, mark)
    equal(done[0], "+ask")
    equal(done[-2:], ["+sweep", "-sweep"])
    check(done.index("-settings") > 0 and "-ask" in done, "what went:", done)
    equal(t.owned("shop", kinds=("ConfigMap", "Job", "Pod")), set(), "nothing is left")


@test
def a_hook_that_fails_says_why(t):
    package = chart(t, config_map("settings"), hook("migrate", "pre-install", "fail", log="no such table"))
    t.refused("install", "shop", "-p", package, says=[f"the hook Job {t.ns}/migrate", "log │ no such table"])
    check(not t.kube.get("ConfigMap", t.ns, "settings"), "nothing comes after it")
    t.run("install", "shop", "-p", package, "--no-hooks")
    check(t.kube.get("ConfigMap", t.ns, "settings"), "without hooks it goes on")
    t.run("uninstall", "shop", "--yes", "--wait")
    equal(t.owned("shop", kinds=("ConfigMap", "Job", "Pod")), set(), "nothing is left")


def said_until(t, wanted, *command):
    """What a command says on stderr until all of `wanted` stands there; then it is interrupted."""
    running = t.start(*command)
    seen = ""
    for line in running.stderr:
        seen += line.decode()
        if all(text in seen for text in wanted):
            break
    check(running.poll() is None and all(text in seen for text in wanted), "it was not said while it waited:\n", seen)
    running.send_signal(signal.SIGINT)
    running.wait(30)


@test(waits=True)
def a_hook_that_is_waited_for_says_why(t):
    image = chart(t, config_map("settings"), hook("migrate", "pre-install", "image-pull-backoff"))
    said_until(t, [f"Job {t.ns}/migrate: waiting (container main: ImagePullBackOff"],
               "install", "shop", "-p", image, "--timeout", "60s")
    contains(t.run("status", "shop").out, "ImagePullBackOff", f"Pod {t.ns}/migrate-")
    t.run("recover", "shop", "--undo", "--yes")
    failed = t.refused("install", "late", "-p", image, "--timeout", "4s", says=["ImagePullBackOff"]).err
    contains(failed, f"ConfigMap {t.ns}/settings comes after Job {t.ns}/migrate")
    check("comes after everything else" not in failed, failed)
    t.run("recover", "late", "--undo", "--yes")
    # A quota keeps the Job from making a Pod: only its Events say so.
    t.kube.create("ResourceQuota", t.ns, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    t.kube.wait("the quota counts", lambda: (t.kube.get("ResourceQuota", t.ns, "none").get("status") or {}).get("used"))
    said_until(t, [f"Job {t.ns}/migrate: waiting (FailedCreate: Error creating: pods", "exceeded quota: none"],
               "install", "full", "-p", image, "--timeout", "60s")
    contains(t.run("status", "full").out, "exceeded quota: none")
    t.run("recover", "full", "--undo", "--yes")


@test
def what_a_hook_printed_is_shown_where_its_policy_wants_that(t):
    package = chart(t, config_map("settings"), hook("before", "pre-install", log="made\n3 tables", policy="hook-succeeded",
                                                    log_policy="hook-succeeded"),
                    hook("silent", "pre-install", log="nobody asks"),
                    hook("after", "post-install", "fail", log="no answer", policy="hook-failed", log_policy="hook-failed"))
    failed = t.refused("install", "shop", "-p", package, says=[
        f"Job {t.ns}/before, main │ made\nJob {t.ns}/before, main │ 3 tables\n", f"Job {t.ns}/after, main │ no answer"])
    check("nobody asks" not in failed.err, failed)
    check(failed.err.index("3 tables") < failed.err.index("settings: created"), "when it has ended:", failed)
    t.run("uninstall", "shop", "--yes", "--wait")


def things(t, **fields):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    return definition(f"{t.ns}.example.com", "things", "Thing", schema)


@test
def definitions_of_a_chart_are_upgraded_if_they_fit_what_is_there(t):
    group, text, number = f"{t.ns}.example.com", {"type": "string"}, {"type": "integer"}
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"things.{group}"))

    def fields():
        live = t.kube.get("CustomResourceDefinition", None, f"things.{group}")
        schema = live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        return sorted(schema["properties"]["spec"]["properties"])

    def thing(**spec):
        return {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": spec}

    t.run("install", "shop", "-p", chart(t, thing(size="big"), crds=[things(t, size=text)]))
    # A field more, and an object that has it, in one upgrade.
    t.run("upgrade", "shop", "-p", chart(t, thing(size="big", color="red"), crds=[things(t, size=text, color=text)]))
    equal(t.kube.get(f"/apis/{group}/v1/things", t.ns, "one")["spec"], {"size": "big", "color": "red"})
    more = chart(t, thing(size="big", color="red", weight=1), crds=[things(t, size=text, color=text, weight=number)])
    contains(t.run("upgrade", "shop", "-p", more, "--dry-run=server").err, "its CRD changes with it")

    mark = t.mark()
    narrower = chart(t, thing(color=3), crds=[things(t, color=number)])
    says = [f"things.{group}", "in v1, .spec.color was of type string and is of type integer",
            "in v1, .spec.size is removed", "--force-crds"]
    t.refused("upgrade", "shop", "-p", narrower, says=says)
    contains(t.run("diff", "shop", "-p", narrower).out, *says[1:3])
    equal([r for r in t.requests(mark) if r.writes], [], "what a refused upgrade writes")
    equal(fields(), ["color", "size"])

    t.run("upgrade", "shop", "-p", chart(t, config_map("settings"), crds=[things(t, color=number)]),
          "--skip-crds", "--delete-crds")
    equal(fields(), ["color", "size"], "left as it was")
    t.run("upgrade", "shop", "-p", chart(t, config_map("settings"), crds=[things(t, color=number)]), "--force-crds")
    equal(fields(), ["color"])
    # To the revision that left it: it is none of its objects, and still not to be deleted.
    t.run("rollback", "shop", "2", "--delete-crds")
    equal(fields(), ["color"])
    t.run("rollback", "shop", "1")
    equal(fields(), ["color", "size"], "of the record, which is not checked")
    t.run("uninstall", "shop", "--yes", "--wait")
    equal(fields(), ["color", "size"], "it outlives the release")


@test
def a_crd_that_two_subcharts_bring_is_installed_once(t):
    group, text, number = f"{t.ns}.example.com", {"type": "string"}, {"type": "integer"}
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"things.{group}"))
    parts = "dependencies:\n- {name: second, version: 1.0.0}\n- {name: first, version: 1.0.0}\n"
    files = {"Chart.yaml": "apiVersion: v2\nname: twice\nversion: 1.0.0\n" + parts, "values.yaml": "{}\n"}
    for name, kind in (("first", number), ("second", text)):
        files[f"charts/{name}/Chart.yaml"] = f"apiVersion: v2\nname: {name}\nversion: 1.0.0\n"
        files[f"charts/{name}/crds/things.yaml"] = json.dumps(things(t, size=kind))
    # Only the CRD of the subchart that Chart.yaml names first takes this.
    files["templates/thing.yaml"] = json.dumps({"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "one"},
                                                "spec": {"size": "big"}})
    said = t.run("install", "shop", "-p", t.files("twice", files))
    contains(said.err, f"the CRD things.{group} differs in twice/charts/second/crds/things.yaml")
    equal(t.kube.get(f"/apis/{group}/v1/things", t.ns, "one")["spec"], {"size": "big"})
    files["charts/first/crds/things.yaml"] = files["charts/second/crds/things.yaml"]
    same = t.run("upgrade", "shop", "-p", t.files("twice", files))
    check("differs in" not in same.err, same.err)


@test(full=True)  # engines are compiled twice
def a_module_that_was_built_of_a_chart_lives_as_the_chart_does(t):
    smoke = {"apiVersion": "v1", "kind": "Pod",
             "metadata": {"name": "smoke", "annotations": {"helm.sh/hook": "test", "mistletoe.dev/dev-log": "GET / 200"}},
             "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example.com/test:1"}]}}
    source = chart(t, hook("migrate", "pre-install,pre-upgrade"), hook("after", "post-upgrade", policy="hook-succeeded"),
                   hook("sweep", "post-delete"), smoke, files={
                       "values.yaml": "a: 1\n", "values.schema.json": '{"properties": {"a": {"type": "number"}}}',
                       "templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"
                                                  "data: {a: {{ .Values.a | quote }}}\n"})
    module = str(t.dir / "shop.mist-pack.wasm")
    t.run("package", "build", source, "-o", module, seconds=900)
    shutil.rmtree(source)
    mark = t.mark()
    t.run("install", "shop", "-p", module, seconds=900)
    equal(written(t, mark), ["+migrate", "+settings"])
    t.refused("upgrade", "shop", "-p", module, "--set", "a=many", says=['a: must be number, is string "many"'])
    mark = t.mark()
    t.run("upgrade", "shop", "-p", module, "--set", "a=2")
    equal(written(t, mark), ["-migrate", "+migrate", "+settings", "+after", "-after"])
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"a": "2"})
    contains(t.run("upgrade", "shop").out, "nothing was written")
    contains(t.run("test", "shop").out, "[smoke/main] GET / 200", "1 of 1 test passed")
    t.run("upgrade", "shop", "--set", "a=many", "--skip-schema-validation")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"a": "many"})
    t.run("rollback", "shop")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"a": "2"})
    mark = t.mark()
    t.run("uninstall", "shop", "--yes", "--wait")
    equal(written(t, mark)[-2:], ["+sweep", "-sweep"])
    equal(t.owned("shop", kinds=("ConfigMap", "Job", "Pod")), set(), "nothing is left")


@test
def the_schema_of_a_chart_is_left_out_only_where_that_is_said(t):
    package = chart(t, config_map("settings"), files={"values.schema.json": '{"properties": {"a": {"type": "number"}}}'})
    wrong = ["-p", package, "--set", "a=many"]
    for verb in (["install"], ["plan"], ["diff"]):
        t.refused(*verb, "shop", *wrong, says=['a: must be number, is string "many"'])
    t.run("install", "shop", *wrong, "--skip-schema-validation")
    t.run("plan", "shop", *wrong, "--skip-schema-validation")
    t.run("diff", "shop", *wrong, "--skip-schema-validation")
    # It isn't recorded: what comes next says it again, or has values that fit.
    t.refused("upgrade", "shop", says=['a: must be number, is string "many"'])
    contains(t.run("upgrade", "shop", "--skip-schema-validation").out, "nothing was written")
    t.run("upgrade", "shop", "--set", "a=1")
    t.run("rollback", "shop")
    t.run("uninstall", "shop", "--yes")


ECDSA = ("{{- $key := genPrivateKey \"ecdsa\" }}{{- $ca := genCAWithKey .Values.name 90 $key }}"
         "{{- $own := genSignedCertWithKey \"web\" nil (list \"web\") 90 $ca (genPrivateKey \"ecdsa\") }}\n")
RSA = "{{- $ca := genCA .Values.name 90 }}{{- $own := genSignedCert \"web\" nil (list \"web\") 90 $ca }}\n"


@test
def what_a_chart_draws_stays_and_its_certificates_are_renewed_with_their_keys(t):
    draws(t, ECDSA)


@test(full=True)  # seconds of processor time for each render
def what_a_chart_draws_of_rsa_keys_stays_too(t):
    draws(t, RSA)


def draws(t, certificates):
    template = (certificates +
                "apiVersion: v1\nkind: Secret\nmetadata: {name: tls}\nstringData:\n  ca: {{ $ca.Cert | quote }}\n"
                "  cert: {{ $own.Cert | quote }}\n  key: {{ $own.Key | quote }}\n")
    package = chart(t, config_map("settings", {"a": "1"}), files={
        "values.yaml": "name: shop\n", "templates/tls.yaml": template})

    def parts():
        data = t.kube.get("Secret", t.ns, "tls")["data"]
        return data["ca"], data["cert"], data["key"]

    t.run("install", "shop", "-p", package, "--clock", "2026-01-02T15:04:05Z")
    first = parts()
    contains(t.run("upgrade", "shop").out, "nothing was written")
    # Another template, and a value of its own, shift nothing.
    chart(t, config_map("settings", {"a": "2"}), config_map("more"), files={
        "values.yaml": "name: shop\n", "templates/tls.yaml": template,
        "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {{ randAlpha 9 }}}\n"})
    t.run("upgrade", "shop", "-p", package)
    equal(parts(), first, "after an upgrade of everything else")
    t.run("upgrade", "shop", "-p", package, "--clock", "2026-03-20T00:00:00Z")
    renewed = parts()
    equal(renewed[2], first[2], "the key of a renewed certificate")
    check(renewed[0] != first[0] and renewed[1] != first[1], "the certificates weren't renewed")
    t.refused("upgrade", "shop", "-p", package, "--set", "name=other", says=["Secret", "tls"])
    t.run("upgrade", "shop", "-p", package, "--rotate-secrets")
    check(parts()[2] != first[2], "the key wasn't rotated")
    t.run("rollback", "shop")
    equal(parts(), renewed, "what a rollback brings back")
    t.run("uninstall", "shop", "--yes")


@test
def charts_know_their_revision_and_what_the_cluster_serves(t):
    template = """apiVersion: v1
kind: ConfigMap
metadata: {name: told}
data:
  values: {{ tpl .Values.told . | quote }}
  served: '{{ .Capabilities.APIVersions.Has "batch/v1/CronJob" }} {{ .Capabilities.APIVersions.Has "batch/v1" }}'
  others: '{{ .Capabilities.APIVersions.Has "autoscaling/v1/HorizontalPodAutoscaler" }} {{ .Capabilities.APIVersions.Has "apps/v1/Scale" }}'
  not: '{{ .Capabilities.APIVersions.Has "batch/v1/Nothing" }} {{ .Capabilities.APIVersions.Has "batch/v9" }}'
"""
    told = "{{ .Release.Revision }} {{ .Release.IsInstall }} {{ .Release.IsUpgrade }}"
    package = chart(t, files={"templates/told.yaml": template, "values.yaml": json.dumps({"told": told})})
    t.run("install", "shop", "-p", package)

    def told_now():
        return t.kube.get("ConfigMap", t.ns, "told")["data"]

    equal(told_now(), {"values": "1 true false", "served": "true true", "others": "true true", "not": "false false"})
    contains(t.run("diff", "shop").out, "2 false true")
    t.run("upgrade", "shop")
    equal(told_now()["values"], "2 false true")
    t.run("rollback", "shop", "0")
    equal(told_now()["values"], "1 true false", "what the revision rendered")


@test
def notes_of_a_package_can_be_read_again(t):
    notes = {"templates/NOTES.txt": "Open http://{{ .Release.Name }}.\nRevision {{ .Values.note }}.\n"}
    package = chart(t, config_map("settings", {"a": "1"}), files=notes)
    contains(t.run("install", "shop", "-p", package, "-s", "note: one").out, "Open http://shop.\nRevision one.")
    equal(t.run("status", "shop", "--notes").out, "Open http://shop.\nRevision one.\n")
    t.run("upgrade", "shop", "-s", "note: two")
    equal(t.run("status", "shop", "-o", "json").json["notes"], "Open http://shop.\nRevision two.")
    bare = chart(t, config_map("settings", {"a": "2"}))
    t.run("upgrade", "shop", "-p", bare)
    none = t.run("status", "shop", "--notes")
    equal(none.out, "")
    contains(none.err, "left no notes")
    t.run("rollback", "shop", "v0")
    equal(t.run("status", "shop", "--notes").out, "Open http://shop.\nRevision one.\n")


@test(waits=True)
def a_hook_that_removes_itself_has_ended(t):
    before = hook("migrate", "pre-install,pre-upgrade")
    before["spec"]["ttlSecondsAfterFinished"] = 0
    after = hook("notify", "post-install,post-upgrade")
    after["spec"]["ttlSecondsAfterFinished"] = 0
    package = chart(t, config_map("settings"), before, after)
    t.run("install", "shop", "-p", package, "--timeout", "60s")
    t.run("upgrade", "shop", "-p", chart(t, config_map("settings", {"new": "x"}), before, after), "--wait", "--timeout", "60s")
    before["spec"]["template"]["metadata"]["annotations"] = {"mistletoe.dev/dev-state": "fail"}
    t.refused("upgrade", "shop", "-p", chart(t, config_map("settings"), before, after), "--timeout", "60s",
              says=["migrate", "BackoffLimitExceeded"])
