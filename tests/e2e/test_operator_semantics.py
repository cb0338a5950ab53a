"""What blueprints can say beyond own and read: acts, states of an object, lists, values, absence, contracts, policies."""
import signal

from harness import check, contains, equal, test
from test_demo import ROOT
from test_operator import Operator, quiet, writes
from test_operator_faults import blueprint, kind, make, wait_torn_down

RECORD = "mistletoe.dev/record"
HEAD = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
'''
TAIL = "} | Blueprint"


def map_of(name, data):
    return f'{{ apiVersion = "v1", kind = "ConfigMap", metadata.name = {name}, data = {data} }}'


def change(t, where, spec):
    t.kube.checked("PATCH", f"{where}/web", {"spec": spec}, content_type="application/merge-patch+json")


def condition(t, where, kind="Ready"):
    instance = t.kube.checked("GET", f"{where}/web")
    found = [c for c in instance.get("status", {}).get("conditions", []) if c["type"] == kind]
    return found[0] if found and found[0]["observedGeneration"] == instance["metadata"]["generation"] else {}


def wait_ready(t, where):
    t.kube.wait("the instance is ready", lambda: condition(t, where).get("status") == "True")


def jobs(t):
    return [o["metadata"]["name"] for o in t.kube.checked("GET", f"/apis/batch/v1/namespaces/{t.ns}/jobs")["items"]]


@test
def a_job_migrates_between_two_states_of_a_deployment(t):
    group = f"{t.ns}.example.com"
    crd = (ROOT / "examples/blueprints/migration/crd.yaml").read_text().replace("example.com", group)
    t.run("install", "kinds", "-p", t.file("crd.yaml", crd), "--wait")
    t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    text = (ROOT / "examples/blueprints/migration/blueprint.ncl").read_text()
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "site", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": text.replace('"example.com"', f'"{group}"')}})
    where = f"/apis/{group}/v1/namespaces/{t.ns}/sites"
    operator = Operator(t)
    t.kube.checked("POST", where, {"apiVersion": f"{group}/v1", "kind": "Site", "metadata": {"name": "web"},
                                   "spec": {"version": "1", "replicas": 2}})

    def deployment():
        spec = (t.kube.get("Deployment", t.ns, "web") or {"spec": {}})["spec"]
        return spec.get("replicas"), spec.get("template", {}).get("spec", {}).get("containers", [{}])[0].get("image")

    wait_ready(t, where)
    equal(deployment(), (2, "site:1"), "the Deployment")
    first = jobs(t)
    equal(len(first), 1, "Jobs")

    # What is done is done: neither a Job that goes nor a new operator has it run again.
    operator.stop(signal.SIGKILL)
    t.kube.delete("Job", t.ns, first[0])
    operator.start()
    t.kube.wait("the Job is let go", lambda: jobs(t) == [])
    t.kube.patch("Deployment", t.ns, "web", {"metadata": {"labels": {"mistletoe.dev/instance-uid": None}}})
    wait_ready(t, where)
    quiet(t)
    equal(jobs(t), [], "Jobs of what was done")
    equal(deployment(), (2, "site:1"), "the Deployment")

    # The next version stops it, migrates, and runs it again.
    mark = t.mark()
    change(t, where, {"version": "2"})
    t.kube.wait("the next version runs", lambda: deployment() == (2, "site:2"))
    wait_ready(t, where)
    made = [r.uri.split("?")[0].split("/")[-1] for r in writes(t, mark) if "/deployments/" in r.uri or "/jobs/" in r.uri]
    made = [name for name in made if name != "status"]
    equal([name for i, name in enumerate(made) if i == 0 or made[i - 1] != name][:3], ["web", jobs(t)[0], "web"],
          "first stopped, then migrated, then run")

    # A guard that a value decides, which a list decides.
    equal(t.kube.get("Service", t.ns, "web-a"), None, "a Service for no host")
    for host in ("a", "b"):
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": f"host-{host}", "labels": {"example.com/site": "web"}},
                                          "data": {"host": host}})
    t.kube.wait("both are there", lambda: all(t.kube.get("Service", t.ns, f"web-{host}") for host in ("a", "b")))
    t.kube.delete("ConfigMap", t.ns, "host-a")
    t.kube.wait("one goes", lambda: t.kube.get("Service", t.ns, "web-a") is None)
    t.kube.delete("ConfigMap", t.ns, "host-b")
    t.kube.wait("the other goes", lambda: t.kube.get("Service", t.ns, "web-b") is None)
    wait_ready(t, where)

    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    t.kube.wait("nothing is left", lambda: jobs(t) == [] and t.kube.get("Deployment", t.ns, "web") is None)
    equal(operator.stop(), 0, "exit code")


@test
def a_configuration_changes_while_what_reads_it_is_stopped(t):
    where = kind(t, "Thing", "things")
    app = """{{ apiVersion = "apps/v1", kind = "Deployment", metadata.name = "app", spec = {{
      replicas = {}, selector.matchLabels.app = "app",
      template = {{ metadata.labels.app = "app", spec.containers = [{{ name = "app", image = "app:1" }}] }} }} }}"""
    blueprint(t, HEAD + """
      nodes = {
        stopped.own = fun {..} => """ + app.format(0) + """,
        config.own = fun {instance, ..} => """ + map_of('"config"', "{ mode = instance.spec.mode }") + """,
        running.own = fun {..} => """ + app.format(2) + """,
      },
      also = [{from = "instance", to = "stopped"}, {from = "instance", to = "config"}, {from = "instance", to = "running"}],
      sequence = [{from = "stopped", to = "config"}, {from = "config", to = "running"}],
    """ + TAIL)
    Operator(t)
    make(t, where, mode="a")
    wait_ready(t, where)
    mark = t.mark()
    change(t, where, {"mode": "b"})
    t.kube.wait("the configuration arrives", lambda: t.kube.get("ConfigMap", t.ns, "config")["data"]["mode"] == "b")
    wait_ready(t, where)
    equal(t.kube.get("Deployment", t.ns, "app")["spec"]["replicas"], 2, "replicas")
    made = [r.uri.split("?")[0].split("/")[-1] for r in writes(t, mark)]
    equal([name for name in made if name in ("app", "config")], ["app", "config", "app"], "stopped, changed, run again")
    # A change of another instance's field, or nothing at all, stops nothing.
    quiet(t)
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)


@test
def a_contract_says_what_is_ready_and_an_act_that_fails_is_told(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        base = {
          own = fun {instance, ..} => ''' + map_of('"base"', '{ a = "1" }') + ''',
          ready = { data.phase | std.enum.TagOrString | [| 'Open |], .. },
        },
        late.own = fun {found, ..} => ''' + map_of('"late"', '{ phase = found }') + ''',
      },
      also = [{from = "instance", to = "base"}, {from = "instance", to = "late"}],
      sequence = [{from = "base", to = "late", extract = { found = "data.phase" }}],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the first is there", lambda: t.kube.get("ConfigMap", t.ns, "base"))
    t.kube.patch("ConfigMap", t.ns, "base", {"data": {"phase": "Shut"}})
    t.kube.wait("the status names the contract", lambda: "contract broken" in condition(t, where).get("message", ""))
    equal(t.kube.get("ConfigMap", t.ns, "late"), None, "what comes after it")
    t.kube.patch("ConfigMap", t.ns, "base", {"data": {"phase": "Open"}})
    t.kube.wait("it goes on", lambda: (t.kube.get("ConfigMap", t.ns, "late") or {"data": {}})["data"].get("phase") == "Open")
    wait_ready(t, where)
    # A repair waits for nothing, even while the contract is broken.
    t.kube.patch("ConfigMap", t.ns, "base", {"data": {"phase": "Shut"}})
    t.kube.wait("the contract is broken", lambda: condition(t, where).get("status") == "False")
    t.kube.patch("ConfigMap", t.ns, "base", {"data": {"phase": "Open"}})
    wait_ready(t, where)
    operator.stop()


@test
def an_act_runs_before_what_it_comes_after_is_deleted(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + """
      nodes = {
        store.own = fun {..} => """ + map_of('"store"', '{ a = "1" }') + """,
        reader.own = fun {..} => """ + map_of('"reader"', '{ a = "1" }') + """,
        backup = {
          teardown = true,
          act = fun {uid, ..} => { apiVersion = "batch/v1", kind = "Job", metadata.name = "backup", spec.template.spec = {
            restartPolicy = "Never", containers = [{ name = "backup", image = "backup:1", args = [uid] }] } },
        },
      },
      also = [{from = "instance", to = "store"}, {from = "instance", to = "reader"}, {from = "instance", to = "backup"}],
      sequence = [{from = "store", to = "reader"}, {from = "store", to = "backup", extract = { uid = "metadata.uid" }}],
    """ + TAIL)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    quiet(t)
    equal(jobs(t), [], "Jobs before the instance is deleted")
    mark = t.mark()
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the Job is there", lambda: jobs(t))
    # A crash in the middle changes nothing.
    operator.stop(signal.SIGKILL)
    check(t.kube.get("ConfigMap", t.ns, "store"), "the store is gone before its backup")
    operator.start()
    wait_torn_down(t, where)
    t.kube.wait("nothing is left", lambda: not jobs(t) and t.kube.get("ConfigMap", t.ns, "store") is None)
    made = [r for r in writes(t, mark) if "/jobs" in r.uri and r.verb in ("create", "patch") and "/status" not in r.uri]
    check(len({r.uri.split("?")[0] for r in made if "mistletoe" in str(r)}) <= 1, "it ran twice")


@test
def a_last_act_is_not_forgotten_while_its_blueprint_is_not_in_force(t):
    """A restart with a revision that is rejected, or none, knows of it from the instance's record alone."""
    where = kind(t, "Thing", "things")
    text = HEAD + """
      nodes = {
        store.own = fun {..} => """ + map_of('"store"', '{ a = "1" }') + """,
        backup = {
          teardown = true,
          act = fun {..} => { apiVersion = "batch/v1", kind = "Job", metadata.name = "backup", spec.template.spec = {
            restartPolicy = "Never", containers = [{ name = "backup", image = "backup:1" }] } },
        },
        notify = {
          teardown = true,
          act = fun {..} => { apiVersion = "batch/v1", kind = "Job", metadata.name = "notify", spec.template.spec = {
            restartPolicy = "Never", containers = [{ name = "notify", image = "notify:1" }] } },
        },
      },
      also = [{from = "instance", to = "store"}, {from = "instance", to = "backup"}, {from = "instance", to = "notify"}],
      sequence = [{from = "store", to = "backup"}, {from = "backup", to = "notify"}],
    """ + TAIL
    blueprint(t, text)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    operator.stop()
    mark = t.mark()
    good = t.kube.get("ConfigMap", t.ns, "app")["data"]["blueprint.ncl"]
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": "{ oops"}})
    operator.start()
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the status says why", lambda: all(
        piece in str(t.kube.checked("GET", f"{where}/web").get("status")) for piece in ("backup", "no blueprint in force")))
    quiet(t)
    check(t.kube.get("ConfigMap", t.ns, "store"), "the store is gone without its backup")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {"mistletoe.dev/blueprint": None}}})
    quiet(t)
    check(t.kube.get("ConfigMap", t.ns, "store"), "the store is gone without its backup")
    # A person who does without the one doesn't do without the other.
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/delete-out-of-order": "backup"}}},
                   content_type="application/merge-patch+json")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {"mistletoe.dev/blueprint": "true"}}, "data": {"blueprint.ncl": good}})
    wait_torn_down(t, where)
    made = [r.uri for r in writes(t, mark) if "/jobs/" in r.uri and r.verb == "patch"]
    check(any("/notify" in uri for uri in made) and not any("/backup" in uri for uri in made), "Jobs", made)
    equal(t.kube.get("ConfigMap", t.ns, "store"), None, "the store")


@test
def what_was_let_go_is_not_asked_for_again_while_a_teardown_is_held(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + """
      nodes = {
        held.own = fun {..} => """ + map_of('"held"', '{ a = "1" }') + """,
        orphan = { own = fun {..} => """ + map_of('"orphan"', '{ a = "1" }') + """, policy = 'orphan },
        kept = { own = fun {..} => """ + map_of('"kept"', '{ a = "1" }') + """, policy = 'retain },
      },
      also = [{from = "instance", to = "held"}, {from = "instance", to = "orphan"}, {from = "instance", to = "kept"}],
      sequence = [{from = "held", to = "orphan"}, {from = "orphan", to = "kept"}],
    """ + TAIL)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": ["example.com/hold"]}})
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("it is being deleted", lambda: t.kube.get("ConfigMap", t.ns, "held")["metadata"].get("deletionTimestamp"))
    quiet(t)
    for name in ("orphan", "kept"):
        check("mistletoe.dev/instance" not in t.kube.get("ConfigMap", t.ns, name)["metadata"].get("labels", {}), name, "is free")
    operator.stop(signal.SIGKILL)
    operator.start()
    quiet(t)
    check("belongs to somebody else" not in operator.said(), operator.said())
    t.kube.patch("ConfigMap", t.ns, "held", {"metadata": {"finalizers": None}})
    wait_torn_down(t, where)
    check(t.kube.get("ConfigMap", t.ns, "orphan") and t.kube.get("ConfigMap", t.ns, "kept"), "what stays")


@test
def an_act_that_fails_keeps_what_is_deleted_until_a_person_says_otherwise(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + """
      nodes = {
        store.own = fun {..} => """ + map_of('"store"', '{ a = "1" }') + """,
        backup = { teardown = true, act = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "no-job" } },
      },
      also = [{from = "instance", to = "store"}, {from = "instance", to = "backup"}],
      sequence = [{from = "store", to = "backup"}],
    """ + TAIL)
    Operator(t)
    make(t, where)
    wait_ready(t, where)
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the status says why", lambda: "an act is a Job" in str(t.kube.checked("GET", f"{where}/web").get("status")))
    quiet(t)
    check(t.kube.get("ConfigMap", t.ns, "store"), "the store is gone without its backup")
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/delete-out-of-order": "backup"}}},
                   content_type="application/merge-patch+json")
    wait_torn_down(t, where)
    equal(t.kube.get("ConfigMap", t.ns, "store"), None, "the store")


@test
def what_must_be_absent_goes_and_what_comes_after_waits(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        legacy.absent = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = "legacy" },
        fresh.own = fun {..} => ''' + map_of('"fresh"', '{ a = "1" }') + ''',
      },
      also = [{from = "instance", to = "legacy"}, {from = "instance", to = "fresh"}],
      sequence = [{from = "legacy", to = "fresh"}],
    ''' + TAIL)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "legacy", "finalizers": ["example.com/hold"]}})
    Operator(t)
    make(t, where)
    t.kube.wait("it is being deleted", lambda: t.kube.get("ConfigMap", t.ns, "legacy")["metadata"].get("deletionTimestamp"))
    t.kube.wait("the status says so", lambda: "legacy" in condition(t, where).get("message", ""))
    equal(t.kube.get("ConfigMap", t.ns, "fresh"), None, "what waits until it is gone")
    t.kube.patch("ConfigMap", t.ns, "legacy", {"metadata": {"finalizers": None}})
    t.kube.wait("it goes on", lambda: t.kube.get("ConfigMap", t.ns, "fresh"))
    wait_ready(t, where)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "legacy"}})
    t.kube.wait("it goes again", lambda: t.kube.get("ConfigMap", t.ns, "legacy") is None)
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)


@test
def policies_say_what_is_taken_over_replaced_and_left(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        taken = { own = fun {..} => ''' + map_of('"taken"', '{ a = "1" }') + ''', adopt = true, policy = 'orphan },
        fixed = {
          own = fun {instance, ..} => ''' + map_of('"fixed"', '{ a = instance.spec.a }') + ''' & { immutable = true },
          replace = true,
        },
        kept = { own = fun {..} => ''' + map_of('"kept"', '{ a = "1" }') + ''', policy = 'retain },
      },
      also = [{from = "instance", to = "taken"}, {from = "instance", to = "fixed"}, {from = "instance", to = "kept"}],
    ''' + TAIL)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "taken"}, "data": {"b": "2"}})
    operator = Operator(t)
    make(t, where, a="1")
    wait_ready(t, where)
    equal(t.kube.get("ConfigMap", t.ns, "taken")["data"], {"a": "1", "b": "2"}, "what was taken over")
    before = t.kube.get("ConfigMap", t.ns, "fixed")["metadata"]["uid"]
    change(t, where, {"a": "2"})
    t.kube.wait("it is made again", lambda: (t.kube.get("ConfigMap", t.ns, "fixed") or {"data": {}})["data"].get("a") == "2")
    made_again = t.kube.get("ConfigMap", t.ns, "fixed")["metadata"]["uid"]
    check(made_again != before, "the same object")
    wait_ready(t, where)
    # A change to the new object is repaired in place; the object isn't replaced again.
    digest = lambda: (t.kube.get("ConfigMap", t.ns, "fixed") or {"metadata": {}})["metadata"].get("annotations", {}).get(
        "mistletoe.dev/applied")
    applied = digest()
    t.kube.patch("ConfigMap", t.ns, "fixed", {"metadata": {"annotations": {"mistletoe.dev/applied": None}}})
    t.kube.wait("it is repaired", lambda: applied and digest() == applied)
    equal(t.kube.get("ConfigMap", t.ns, "fixed")["metadata"]["uid"], made_again, "the uid after the repair")
    wait_ready(t, where)
    # Suspended: nothing is repaired until it no longer is.
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": "true"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("the status says so", lambda: condition(t, where).get("reason") == "Suspended")
    t.kube.delete("ConfigMap", t.ns, "kept")
    quiet(t)
    equal(t.kube.get("ConfigMap", t.ns, "kept"), None, "what a suspended instance lost")
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": None}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("it is back", lambda: t.kube.get("ConfigMap", t.ns, "kept"))
    wait_ready(t, where)
    # Suspended, it isn't torn down either.
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": "true"}}},
                   content_type="application/merge-patch+json")
    t.kube.wait("the status says so", lambda: condition(t, where).get("reason") == "Suspended")
    t.kube.checked("DELETE", f"{where}/web")
    t.kube.wait("the status says so", lambda: "it is being deleted" in condition(t, where).get("message", ""))
    quiet(t)
    check(t.kube.get("ConfigMap", t.ns, "fixed"), "what a suspended instance had")
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/suspend": None}}},
                   content_type="application/merge-patch+json")
    wait_torn_down(t, where)
    equal(t.kube.get("ConfigMap", t.ns, "fixed"), None, "what is deleted by default")
    for name in ("kept", "taken"):
        check("mistletoe.dev/instance-uid" not in t.kube.get("ConfigMap", t.ns, name)["metadata"].get("labels", {}),
              f"{name} has the mark of an instance that is gone")
    equal(operator.stop(), 0, "exit code")


@test
def a_job_that_stays_can_be_deleted(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes.job = {
        act = fun {..} => {
          apiVersion = "batch/v1", kind = "Job", metadata.name = "job",
          spec = {
            backoffLimit = 0,
            template = {
              metadata.annotations = { "mistletoe.dev/dev-state" = "fail" },
              spec = { restartPolicy = "Never", containers = [{ name = "main", image = "example.com/main:1" }] },
            },
          },
        },
        policy = 'retain,
      },
      also = [{from = "instance", to = "job", when = "spec.job"}],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where, job=True)
    t.kube.wait("it has failed", lambda: "its Job has failed" in condition(t, where).get("message", ""))
    # Nothing wants it any more.
    change(t, where, {"job": False})
    wait_ready(t, where)
    equal(len(jobs(t)), 1, "Jobs that stay")
    t.kube.delete("Job", t.ns, jobs(t)[0])
    t.kube.wait("it goes", lambda: jobs(t) == [])
    # There is no instance any more.
    change(t, where, {"job": True})
    t.kube.wait("it has failed again", lambda: "its Job has failed" in condition(t, where).get("message", ""))
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    left = t.kube.get("Job", t.ns, jobs(t)[0])["metadata"]
    check("mistletoe.dev/operator" not in left.get("finalizers", []), left)
    check("mistletoe.dev/instance-uid" not in left.get("labels", {}), left)
    t.kube.delete("Job", t.ns, left["name"])
    t.kube.wait("it goes", lambda: jobs(t) == [])
    equal(operator.stop(), 0, "exit code")


@test
def authors_see_what_became_of_their_revision(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes.a.own = fun {..} => ''' + map_of('"a"', '{ a = "1" }') + ''',
      also = [{from = "instance", to = "a"}],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)

    def said():
        return t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})

    equal(said().get("mistletoe.dev/status"), "InForce", "the blueprint's status")
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": "{ nodes = 1 + \"a\" }"}})
    t.kube.wait("it is rejected", lambda: said().get("mistletoe.dev/status") == "Rejected")
    contains(said()["mistletoe.dev/message"], "blueprint.ncl:1:")
    check("mistletoe.dev/kind" in said(), "its kind is forgotten")

    def events(about):
        items = t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events")["items"]
        return {e["reason"]: e for e in items if e["involvedObject"]["name"] == about}

    t.kube.wait("there are Events", lambda: "Rejected" in events("app"))
    equal(events("app")["Rejected"]["type"], "Warning", "a rejected revision")
    contains(events("app")["Rejected"]["message"], "blueprint.ncl:1:")
    operator.stop()


def two_of_a_kind(t):
    """A blueprint with an instance, and another one of the same kind, named second, that makes web-b where the first makes web-a. Gives
    where the instances are, the operator, and what gives the annotations of a blueprint."""
    where = kind(t, "Thing", "things")
    one = HEAD + "nodes.a.own = fun {instance, ..} => " + map_of('"%{instance.metadata.name}-a"', '{ a = "1" }') + \
        ", also = [{from = \"instance\", to = \"a\"}]," + TAIL
    blueprint(t, one)
    operator = Operator(t)
    make(t, where)
    wait_ready(t, where)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "second", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": one.replace("GROUP", f"{t.ns}.example.com").replace('-a"', '-b"')}})

    def said(name):
        return t.kube.get("ConfigMap", t.ns, name)["metadata"].get("annotations", {})

    return where, operator, said


@test
def two_blueprints_do_not_share_a_kind(t):
    """Each would take what the other one makes for something that nothing wants any more."""
    where, operator, said = two_of_a_kind(t)
    uid = t.kube.get("ConfigMap", t.ns, "web-a")["metadata"]["uid"]
    for again in (False, True):
        t.kube.wait("the second is rejected", lambda: said("second").get("mistletoe.dev/status") == "Rejected")
        contains(said("second")["mistletoe.dev/message"], "is the kind of the blueprint app already")
        quiet(t)
        equal(t.kube.get("ConfigMap", t.ns, "web-a")["metadata"]["uid"], uid, "the object of the first")
        equal(t.kube.get("ConfigMap", t.ns, "web-b"), None, "an object of the second")
        if not again:
            operator.stop(signal.SIGKILL)
            operator.start()
            wait_ready(t, where)
    # Once the first and its instances are gone, the second is in force.
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    t.kube.delete("ConfigMap", t.ns, "app")
    t.kube.wait("the second is in force", lambda: said("second").get("mistletoe.dev/status") == "InForce")
    # Its instances are its own: nothing of the first writes to them.
    make(t, where)
    wait_ready(t, where)
    quiet(t)
    equal(condition(t, where)["status"], "True", "ready")
    check(t.kube.get("ConfigMap", t.ns, "web-b"), "the object of the second")
    equal(operator.stop(), 0, "exit code")


@test
def a_blueprint_that_lost_its_label_keeps_its_kind_while_it_has_instances(t):
    where, operator, said = two_of_a_kind(t)
    t.kube.wait("the second is rejected", lambda: said("second").get("mistletoe.dev/status") == "Rejected")
    t.kube.patch("ConfigMap", t.ns, "app", {"metadata": {"labels": {"mistletoe.dev/blueprint": None}}})
    t.kube.wait("its label is missed", lambda: said("app").get("mistletoe.dev/status") == "LabelMissing")
    for again in (False, True):
        quiet(t)
        equal(said("second").get("mistletoe.dev/status"), "Rejected", "the second")
        check(t.kube.get("ConfigMap", t.ns, "web-a"), "the object of the first")
        equal(t.kube.get("ConfigMap", t.ns, "web-b"), None, "an object of the second")
        equal(condition(t, where).get("reason"), "NoBlueprint", "the instance")
        if not again:
            operator.stop(signal.SIGKILL)
            operator.start()
            t.kube.wait("it is missed again", lambda: operator.said().count("and lost the label") == 2)
    # The last instance lets the second in.
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
    equal(t.kube.get("ConfigMap", t.ns, "web-a"), None, "the object of the first")
    t.kube.wait("the second is in force", lambda: said("second").get("mistletoe.dev/status") == "InForce")
    make(t, where)
    wait_ready(t, where)
    quiet(t)
    equal(condition(t, where)["status"], "True", "ready")
    equal(operator.stop(), 0, "exit code")


@test
def a_rejected_blueprint_that_is_deleted_is_not_tried_again(t):
    blueprint(t, "{ nodes = 1 + \"a\" }")
    operator = Operator(t)
    t.kube.wait("it is rejected", lambda: "is rejected" in operator.said())
    t.kube.delete("ConfigMap", t.ns, "app")
    t.kube.wait("it is said", lambda: "was deleted" in operator.said())
    quiet(t)
    check(operator.said().count("was deleted") <= 2, operator.said())
    equal(operator.stop(), 0, "exit code")


@test
def what_a_function_was_given_is_in_no_status(t):
    """A user who may read an instance may not be allowed to read the Secret that its blueprint reads."""
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        db.read = fun {..} => { apiVersion = "v1", kind = "Secret", metadata.name = "db" },
        url.own = fun {instance, pw, ..} => ''' + map_of('"url"', '{ host = instance.spec.host, a = std.string.length pw }') + ''',
      },
      also = [{from = "instance", to = "db"}, {from = "instance", to = "url"}],
      sequence = [{from = "db", to = "url", extract = {pw = "data.password"}}],
    ''' + TAIL)
    t.kube.create("Secret", t.ns, {"metadata": {"name": "db"}, "data": {"password": "SFVOVEVSMlNFQ1JFVA=="}})
    operator = Operator(t)
    make(t, where)
    t.kube.wait("it fails", lambda: "missing field" in condition(t, where).get("message", ""))
    contains(condition(t, where)["message"], "blueprint.ncl")
    for told in (t.kube.checked("GET", f"{where}/web"), t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events"), operator.said()):
        check("SFVOVEVSMlNFQ1JFVA" not in str(told), "the Secret is told:", told)
    equal(operator.stop(), 0, "exit code")


@test
def an_instance_that_is_replaced_keeps_its_record(t):
    """`kubectl replace` of a manifest removes the annotation and the finalizer."""
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        one.own = fun {..} => ''' + map_of('"one"', '{ a = "1" }') + ''',
        two.own = fun {..} => ''' + map_of('"two"', '{ a = "1" }') + ''',
      },
      also = [{from = "instance", to = "one"}, {from = "instance", to = "two", when = "spec.two"}],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where, two=True)
    wait_ready(t, where)
    instance = t.kube.checked("GET", f"{where}/web")
    instance["metadata"] = {key: instance["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
    instance["spec"]["two"] = False
    t.kube.checked("PUT", f"{where}/web", instance)
    t.kube.wait("what nothing wants is deleted", lambda: not t.kube.get("ConfigMap", t.ns, "two"))
    wait_ready(t, where)
    t.kube.wait("it is recorded again", lambda: "one" in str(t.kube.checked("GET", f"{where}/web")["metadata"].get("annotations")))
    # An older one, as kubectl apply of an older manifest puts it there, takes nothing from what the operator knows.
    older = t.kube.checked("GET", f"{where}/web")["metadata"]["annotations"][RECORD]
    change(t, where, {"two": True})
    t.kube.wait("the other is made", lambda: t.kube.get("ConfigMap", t.ns, "two"))
    wait_ready(t, where)
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {RECORD: older}}, "spec": {"two": False}},
                   content_type="application/merge-patch+json")
    t.kube.wait("what nothing wants is deleted", lambda: not t.kube.get("ConfigMap", t.ns, "two"))
    wait_ready(t, where)
    # A damaged one, of which a new operator knows nothing, is reported, and nothing is let go of.
    operator.stop(signal.SIGKILL)
    t.kube.checked("PATCH", f"{where}/web", {"metadata": {"annotations": {"mistletoe.dev/record": "garbage"}}},
                   content_type="application/merge-patch+json")
    t.kube.checked("DELETE", f"{where}/web")
    operator.start()
    t.kube.wait("it is reported", lambda: any(e["reason"] == "RecordDamaged" for e in
                                              t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events")["items"]))
    check(t.kube.checked("GET", f"{where}/web")["metadata"]["finalizers"], "it is let go of")
    operator.stop()


@test
def what_only_a_lost_record_named_is_told_and_left_as_it_is(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        one.own = fun {..} => ''' + map_of('"one"', '{ a = "1" }') + ''',
        data.own = fun {instance, late, ..} =>
          { apiVersion = "v1", kind = "PersistentVolumeClaim", metadata.name = "data-%{late}",
            spec = { accessModes = ["ReadWriteOnce"], resources.requests.storage = "1Gi" } },
      },
      also = [{from = "instance", to = "one"}, {from = "instance", to = "data", when = "spec.data"}],
      sequence = [{from = "one", to = "data", extract = {late = "data.a"}}],
    ''' + TAIL)
    operator = Operator(t)
    address = f"{where}/web"
    told = lambda: condition(t, where, "RecordComplete")

    def claim():
        found = t.kube.get("PersistentVolumeClaim", t.ns, "data-1")
        return found and "deletionTimestamp" not in found["metadata"]

    def lose(**spec):
        """The record, while no operator runs, and all that says that there was one, but for the finalizer."""
        operator.stop(signal.SIGKILL)
        t.kube.checked("PATCH", address, {"metadata": {"annotations": None}, "spec": spec}, content_type="application/merge-patch+json")
        t.kube.checked("PATCH", address + "/status", {"status": None}, content_type="application/merge-patch+json")

    make(t, where, data=True)
    wait_ready(t, where)
    lose(data=True)
    operator.start()
    t.kube.wait("it is recorded again", lambda: "data-1" in t.kube.checked("GET", address)["metadata"].get("annotations", {}).get(RECORD, ""))
    wait_ready(t, where)
    equal(told(), {}, "what is wanted is known again")
    lose(data=False)
    operator.start()
    t.kube.wait("it is told", lambda: told().get("status") == "False")
    contains(told()["message"], f"PersistentVolumeClaim {t.ns}/data-1")
    check("ConfigMap" not in told()["message"], told())
    check(any(e["reason"] == "RecordLost" for e in t.kube.list("Event", t.ns)), "no Event")
    equal(condition(t, where)["status"], "True", "what is wanted is there")
    # Another operator knows it from the record. It is wanted again, and no longer.
    operator.stop(signal.SIGKILL)
    operator.start()
    change(t, where, {"data": True})
    t.kube.wait("it is accounted for", lambda: condition(t, where).get("status") == "True" and told() == {})
    change(t, where, {"data": False})
    t.kube.wait("it is deleted", lambda: not claim())
    # The instance is deleted while nobody knows its record.
    change(t, where, {"data": True})
    t.kube.wait("it is there again", claim)
    wait_ready(t, where)
    lose(data=True)
    t.kube.checked("DELETE", address)
    operator.start()
    t.kube.wait("it is told", lambda: condition(t, where).get("reason") == "RecordLost")
    contains(condition(t, where)["message"], f"PersistentVolumeClaim {t.ns}/data-1", f"ConfigMap {t.ns}/one")
    quiet(t)
    check(claim(), "the data is gone")
    t.kube.delete("ConfigMap", t.ns, "one")
    t.kube.wait("one is left", lambda: "ConfigMap" not in condition(t, where)["message"])
    t.kube.patch("PersistentVolumeClaim", t.ns, "data-1", {"metadata": {"labels": {"mistletoe.dev/instance-uid": None}}})
    wait_torn_down(t, where)
    check(claim(), "the data is gone")
    equal(operator.stop(), 0, "exit code")


@test
def along_a_soft_edge_the_default_flows_where_a_kind_is_not_served(t):
    where = kind(t, "Thing", "things")
    blueprint(t, HEAD + '''
      nodes = {
        other.read = fun {..} => { apiVersion = "none.example.org/v1", kind = "Other", metadata.name = "web" },
        all.list = fun {..} => { apiVersion = "none.example.org/v1", kind = "Other" },
        base.own = fun {phase, others, ..} => ''' + map_of('"base"', '{ include phase, count = std.to_string (std.array.length others) }') + ''',
      },
      also = [{from = "instance", to = "other"}, {from = "instance", to = "all"}, {from = "instance", to = "base"}],
      sequence = [
        {from = "other", to = "base", gate = 'soft, extract = { phase = { path = "status.phase", default = "none" } }},
        {from = "all", to = "base", gate = 'soft, extract = { others = { path = ".", default = [] } }},
      ],
    ''' + TAIL)
    operator = Operator(t)
    make(t, where)
    t.kube.wait("the defaults flow", lambda: (t.kube.get("ConfigMap", t.ns, "base") or {}).get("data") == {"phase": "none", "count": "0"})
    operator.stop()


@test
def no_name_that_a_function_made_of_a_secret_is_in_a_status(t):
    where = kind(t, "Thing", "things")
    t.kube.create("Secret", t.ns, {"metadata": {"name": "login"}, "stringData": {"password": "hunter2"}})
    hidden = t.kube.get("Secret", t.ns, "login")["data"]["password"]
    text = HEAD + """
      nodes = {
        login.read = fun {..} => { apiVersion = "v1", kind = "Secret", metadata.name = "login" },
        config.own = fun { pw, .. } => """ + map_of('"config"', "{ a = FUNCTION }") + """,
      },
      also = [{from = "instance", to = "login"}, {from = "instance", to = "config"}],
      sequence = [{from = "login", to = "config", extract = { pw = "data.password" }}],
    """ + TAIL
    functions = ('{ a = "1" }."%{pw}"', 'std.record.get pw { a = "1" }', '({ "%{pw}" = "1" } | { image | String | optional }).image',
                 '{ a = "1" }.imagee')
    blueprint(t, text.replace("FUNCTION", functions[0]))
    operator = Operator(t)
    make(t, where)
    for function in functions:
        t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": text.replace("FUNCTION", function).replace(
            "GROUP", where.split("/")[2])}})
        t.kube.wait("the revision is in force", lambda: t.kube.get("ConfigMap", t.ns, "app")["metadata"]["annotations"].get(
            "mistletoe.dev/status") == "InForce")
        quiet(t)
        message = condition(t, where).get("message", "")
        contains(message, "field")
        events = str(t.kube.checked("GET", f"/api/v1/namespaces/{t.ns}/events"))
        for place in (message, events, operator.said()):
            check(hidden not in place and "hunter2" not in place, "the secret is told:", place)
    contains(condition(t, where)["message"], "missing field `imagee`")  # as its author wrote it
    t.kube.checked("DELETE", f"{where}/web")
    wait_torn_down(t, where)
