"""The examples of blueprints that nothing else runs, on a server: blue/green, what others publish, a tenant, a database's schema, a program's report."""
import subprocess
import time

from harness import check, contains, equal, test
from test_blueprint_crds import serve_report
from test_demo import ROOT
from test_operator import Operator, quiet
from test_real_node import real_node


def deploy(t, example, plural, without=""):
    """The example's blueprint for a group of this test's own, an operator, and the path of its instances. `without`: a part of the
    example's text that is left out."""
    group = f"{t.ns}.example.com"
    text = (ROOT / "examples/blueprints" / example / "blueprint.ncl").read_text().replace('group = "example.com"', f'group = "{group}"')
    check(without in text, "the example doesn't have", without)
    text = text.replace(without, "")
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": example, "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": text}})
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{group}"))
    operator = Operator(t)
    path = f"/apis/{group}/v1/namespaces/{t.ns}/{plural}"
    t.kube.wait("the kind is served", lambda: t.kube.request("GET", path)[0] == 200)
    return path, operator


def instance(t, path, name, spec):
    kind = {"sites": "Site", "gateways": "Gateway", "tenants": "Tenant", "schemas": "Schema", "surveys": "Survey"}[path.split("/")[-1]]
    t.kube.checked("POST", path, {"apiVersion": "/".join(path.split("/")[2:4]), "kind": kind, "metadata": {"name": name}, "spec": spec})


def change(t, path, name, spec):
    t.kube.checked("PATCH", f"{path}/{name}", {"spec": spec}, content_type="application/merge-patch+json")


def ready(t, path, name):
    found = t.kube.checked("GET", f"{path}/{name}")
    return any(each["type"] == "Ready" and each["status"] == "True" and each["observedGeneration"] == found["metadata"]["generation"]
               for each in found.get("status", {}).get("conditions", []))


def wait_ready(t, path, name, seconds=180):
    t.kube.wait(f"{name} is ready", lambda: ready(t, path, name), seconds)
    return t.kube.checked("GET", f"{path}/{name}")


def remove(t, path, name, seconds=180):
    t.kube.checked("DELETE", f"{path}/{name}")
    t.kube.wait(f"{name} is gone", lambda: t.kube.request("GET", f"{path}/{name}")[0] == 404, seconds)


@test
def blue_and_green_change_places_without_a_gap(t):
    path, operator = deploy(t, "blue-green", "sites")
    selected = []  # colours that the Service selected, and whether their Deployment was ready then

    def order(mark):
        """Names of what was written, in order, without repetitions."""
        names = []
        for each in t.requests(mark):
            parts = each.uri.split("?")[0].split("/")
            if each.writes and parts[-2] in ("jobs", "deployments", "services") and each.code < 300:
                name = f"{each.verb} {parts[-1]}" if each.verb == "delete" else parts[-1]
                if not names or names[-1] != name:
                    names.append(name)
        return names

    instance(t, path, "shop", {"color": "blue", "image": "shop:1", "replicas": 2})
    equal(wait_ready(t, path, "shop")["status"]["color"], "blue", "who has the traffic")
    for color, other, image in (("green", "blue", "shop:2"), ("blue", "green", "shop:3")):
        mark = t.mark()
        change(t, path, "shop", {"color": color, "image": image})
        equal(wait_ready(t, path, "shop")["status"]["color"], color, "who has the traffic")
        check(t.kube.get("Deployment", t.ns, f"shop-{other}") is None, f"{other} is still there")
        equal(t.kube.get("Service", t.ns, "shop")["spec"]["selector"], {"site": "shop", "color": color}, "selector")
        names = [name for name in order(mark) if not name.startswith("delete shop-expand") and not name.startswith("delete shop-contract")]
        places = [next(i for i, name in enumerate(names) if name.startswith(each))
                  for each in ("shop-expand", f"shop-{color}", "shop", f"delete shop-{other}", "shop-contract")]
        places[2] = names.index("shop")
        check(places == sorted(places), "the order of writes:", names)
    quiet(t)
    remove(t, path, "shop")
    equal(t.kube.list("Deployment", t.ns), [], "Deployments")
    equal(operator.stop(), 0, "exit code")


@test
def a_gateway_follows_what_others_publish(t):
    path, operator = deploy(t, "fan-in", "gateways")
    instance(t, path, "front", {})
    equal(wait_ready(t, path, "front")["status"]["backends"], 0, "backends of none")
    check(t.kube.get("Deployment", t.ns, "front") is None, "a proxy for nothing")

    def publish(name, gateway="front"):
        t.kube.create("Service", t.ns, {"metadata": {"name": name, "labels": {"example.com/gateway": gateway}},
                                        "spec": {"ports": [{"port": 80}], "selector": {"app": name}}})

    def config():
        return (t.kube.get("ConfigMap", t.ns, "front-haproxy") or {"data": {"haproxy.cfg": ""}})["data"]["haproxy.cfg"]

    def annotation():
        return t.kube.get("Deployment", t.ns, "front")["spec"]["template"]["metadata"]["annotations"]["example.com/config"]

    publish("shop")
    publish("blog")
    publish("other", "back")
    t.kube.wait("both are known", lambda: "server blog blog:80" in config() and "server shop shop:80" in config())
    check("other" not in config(), config())
    t.kube.wait("both are counted", lambda: wait_ready(t, path, "front")["status"]["backends"] == 2)
    wait_ready(t, path, "front")
    before = annotation()
    t.kube.delete("Service", t.ns, "shop")
    t.kube.wait("one is left", lambda: "shop" not in config())
    t.kube.wait("one is counted", lambda: wait_ready(t, path, "front")["status"]["backends"] == 1)
    t.kube.wait("another configuration has other Pods", lambda: annotation() != before)
    check(t.kube.get("Service", t.ns, "other") is not None, "what belongs to others is gone")
    remove(t, path, "front")
    check(t.kube.get("Service", t.ns, "blog") is not None, "what belongs to others is gone")
    equal(operator.stop(), 0, "exit code")


@test
def a_tenant_is_safe_before_anybody_gets_in(t):
    path, operator = deploy(t, "tenant", "tenants")
    name = t.ns
    ns = f"tenant-{name}"
    t.cleanup(lambda: t.kube.delete("Namespace", None, ns))
    mark = t.mark()
    instance(t, path, name, {"members": ["ada"]})
    equal(wait_ready(t, path, name)["status"]["namespace"], ns, "the namespace")
    made = [each.uri.split("?")[0].split("/")[-2:] for each in t.requests(mark) if each.writes and f"/{ns}" in each.uri]
    kinds = [each[0] for each in made]
    check(kinds[0] == "namespaces" and set(kinds[1:5]) == {"resourcequotas", "limitranges", "networkpolicies", "serviceaccounts"}
          and set(kinds[5:]) == {"rolebindings"}, "the order of writes:", made)
    change(t, path, name, {"members": ["ada", "bob"]})
    t.kube.wait("bob gets in", lambda: [s["name"] for s in t.kube.get("RoleBinding", ns, "members").get("subjects", [])] == ["ada", "bob"])
    # Somebody opens the network: it closes, and so do the rights.
    t.kube.patch("NetworkPolicy", ns, "tenant", {"spec": {"ingress": [{}]}})
    t.kube.wait("it closes", lambda: t.kube.get("NetworkPolicy", ns, "tenant")["spec"]["ingress"][0].get("from"))
    t.kube.patch("RoleBinding", ns, "members", {"subjects": [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}]})
    t.kube.wait("eve is out", lambda: "eve" not in str(t.kube.get("RoleBinding", ns, "members")["subjects"]))
    quiet(t)
    remove(t, path, name)
    equal(operator.stop(), 0, "exit code")


@test(waits=True)
def the_report_of_a_program_becomes_the_status_of_a_survey(t):
    """With the instance that stands beside the example. Its workers are simulated, and have no address that the API server forwards
    to; so the Service selects no Pods, and leads to a program of the test."""
    reporter = serve_report(t, "habits", "http")
    reporter.say(phase="Running", percent=40)
    path, operator = deploy(t, "report", "surveys", without="selector = labels_of instance, ")
    text = (ROOT / "examples/blueprints/report/instance.yaml").read_text().replace("example.com", f"{t.ns}.example.com")
    t.run("install", "survey", "-p", t.file("survey.yaml", text))

    def survey():
        return t.kube.checked("GET", f"{path}/habits")
    t.kube.wait("the report is the status", lambda: survey().get("status", {}).get("percent") == 40, 120)
    equal(survey()["status"]["phase"], "Running", "phase")
    check(not ready(t, path, "habits"), "it is ready before the report is done")
    check(t.kube.get("ConfigMap", t.ns, "habits-result") is None, "the result is there before the report is done")
    equal(reporter.paths, {"/report"}, "what was asked")
    workers = t.kube.get("Deployment", t.ns, "habits")["spec"]
    equal((workers["replicas"], workers["template"]["spec"]["containers"][0]["args"]), (2, ["--exact", "north", "south"]), "workers")
    reporter.say(phase="Done", percent=100, link="https://example.com/habits")
    found = wait_ready(t, path, "habits", 120)
    equal((found["status"]["phase"], found["status"]["percent"]), ("Done", 100), "the status")
    equal(t.kube.get("ConfigMap", t.ns, "habits-result")["data"], {"link": "https://example.com/habits"}, "the result")
    remove(t, path, "habits")
    check(t.kube.get("Deployment", t.ns, "habits") is None, "the workers stay")
    equal(operator.stop(), 0, "exit code")


POSTGRES = """
apiVersion: v1
kind: Secret
metadata: {name: shop-database}
stringData: {username: shop, password: GIVEN}
---
apiVersion: v1
kind: Service
metadata: {name: postgres}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: postgres}
spec:
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      containers:
      - name: postgres
        image: postgres:17
        env:
        - {name: POSTGRES_DB, value: shop}
        - {name: POSTGRES_USER, valueFrom: {secretKeyRef: {name: shop-database, key: username}}}
        - {name: POSTGRES_PASSWORD, valueFrom: {secretKeyRef: {name: shop-database, key: password}}}
        readinessProbe: {exec: {command: [pg_isready, -h, 127.0.0.1]}, periodSeconds: 2}
"""


def psql(t, statement):
    done = subprocess.run([t.devcluster, "kubectl", "--dir", str(t.cluster_directory), "exec", "-n", t.ns, "deploy/postgres", "--",
                           "psql", "-U", "shop", "-At", "-c", statement, "shop"], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


@test(full=True, waits=True)
def a_schema_is_applied_to_a_real_database(outer):
    t = real_node(outer)
    password = "not-in-any-record"
    t.run("install", "database", "-p", t.file("postgres.yaml", POSTGRES.replace("GIVEN", password)), "--wait", "--timeout", "3m", seconds=240)
    path, operator = deploy(t, "schema", "schemas")
    spec = {"database": {"host": "postgres", "name": "shop", "secret": "shop-database"}, "version": 1,
            "statements": ["create table customer (id bigint primary key)", "insert into customer values (7)"],
            "application": {"image": "busybox:1.36", "args": ["sleep", "1000000"]}}
    instance(t, path, "shop", spec)
    found = wait_ready(t, path, "shop", 180)
    equal((found["status"]["version"], found["status"]["tables"]), (1, 2), "what the report says")
    equal(psql(t, "select id from customer"), "7", "what is in the database")
    check(password not in str(found), "the password stands in the instance")

    def application():
        return {each["name"]: each.get("value") for each in
                t.kube.get("Deployment", t.ns, "shop")["spec"]["template"]["spec"]["containers"][0]["env"]}["SCHEMA_VERSION"]

    equal(application(), "1", "the application's version")
    # The next version is applied before the application gets it; a statement that fails changes nothing.
    change(t, path, "shop", {"version": 2, "statements": ["alter table customer add column name text", "select nonsense"]})
    t.kube.wait("the Job has failed", lambda: any(
        each.get("status", {}).get("failed") for each in t.kube.list("Job", t.ns)), 180)
    equal(psql(t, "select count(*) from information_schema.columns where table_name = 'customer'"), "1", "columns")
    equal(application(), "1", "the application's version")
    change(t, path, "shop", {"statements": ["alter table customer add column name text"]})
    found = wait_ready(t, path, "shop", 240)
    equal(found["status"]["version"], 2, "what the report says")
    equal(application(), "2", "the application's version")
    equal(psql(t, "select id, name is null from customer"), "7|t", "what is in the database")
    quiet(t)
    remove(t, path, "shop", 120)
    equal(psql(t, "select id from customer"), "7", "the data after the instance")
    equal(operator.stop(), 0, "exit code")


@test
def a_fight_over_an_object_has_growing_pauses(t):
    """Another program that changes, or deletes, an object each time that the operator writes it."""
    path, operator = deploy(t, "tenant", "tenants")
    ns = f"tenant-{t.ns}"
    t.cleanup(lambda: t.kube.delete("Namespace", None, ns))
    instance(t, path, t.ns, {})
    wait_ready(t, path, t.ns)

    def fight(seconds, others, is_ours):
        mark, end, rounds = t.mark(), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            if is_ours():
                others()
                rounds += 1
            time.sleep(0.02)
        return rounds, [each for each in t.requests(mark) if each.writes and f"/namespaces/{ns}/" in each.uri and "fieldManager=mistletoe-operator" in each.uri]

    quota = lambda: t.kube.get("ResourceQuota", ns, "tenant")["spec"]["hard"]["requests.cpu"]  # noqa: E731
    rounds, made = fight(12, lambda: t.kube.patch("ResourceQuota", ns, "tenant", {"spec": {"hard": {"requests.cpu": "100"}}}),
                         lambda: quota() == "4")
    # Five at once, then after 0.2, 0.4, … s: eleven in 12 s.
    check(5 <= len(made) <= 14, f"{len(made)} writes of the operator in {rounds} rounds")
    found = t.kube.checked("GET", f"{path}/{t.ns}")
    message = next(each["message"] for each in found["status"]["conditions"] if each["type"] == "Ready")
    contains(message, "ResourceQuota", "something else changes or deletes it each time that it is written")
    # What is wanted now is another thing: that waits for nothing.
    change(t, path, t.ns, {"cpu": "5"})
    t.kube.wait("the new quota is written", lambda: quota() == "5", 10)
    rounds, made = fight(8, lambda: t.kube.delete("ServiceAccount", ns, "ci"),
                         lambda: t.kube.get("ServiceAccount", ns, "ci") is not None)
    check(len([each for each in made if "/serviceaccounts/" in each.uri]) <= 14, f"{len(made)} writes of the operator in {rounds} rounds")
    remove(t, path, t.ns)
    equal(operator.stop(), 0, "exit code")
