"""A release's record is Mistletoe's alone: packages can't make one, and what a record claims deletes nothing that
doesn't say itself that it is the release's."""
import base64
import gzip
import hashlib
import json

from harness import check, config_map, contains, equal, secret, test
from test_charts import chart, hook
from test_operator import Operator, condition, define

HEAD = {"latest": -1, "deployed": -1, "status": "pending", "action": "install", "updated": "", "package": "",
        "packageVersion": "", "objects": 0}


def encoded(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def anchor(release, **metadata):
    """An anchor with a seed that its author knows."""
    labels = {"mistletoe.dev/record": "anchor", "mistletoe.dev/release-name": release}
    return {"apiVersion": "v1", "kind": "Secret", "type": "mistletoe.dev/release",
            "metadata": {"name": f"mistletoe.{release}", "labels": labels,
                         "annotations": {"mistletoe.dev/head": json.dumps(HEAD)}, **metadata},
            "data": {"seed": encoded(b"s" * 32), "clock": encoded("2026-01-01T00:00:00Z")}}


def blob(value):
    packed = gzip.compress(json.dumps(value).encode())
    return encoded(json.dumps({"digest": "sha256:" + hashlib.sha256(packed).hexdigest(), "size": len(packed),
                               "inline": encoded(packed)}))


def unpacked(item, what):
    return json.loads(gzip.decompress(base64.b64decode(
        json.loads(base64.b64decode(item["data"][what]))["inline"])))


def refused(t, package, *says, name="evil"):
    """Nothing is written, not even a record."""
    mark = t.mark()
    outcome = t.refused("install", name, "-p", package, says=says)
    equal([r for r in t.requests(mark) if r.writes], [], f"writes of {outcome}")
    equal(t.record(name), [], "records of the refused release")


@test
def forged_records_of_packages_are_refused_before_anything_is_written(t):
    where = f"Secret mistletoe.shop"
    refused(t, t.package("evil", config_map("a"), anchor("shop")), where, "mistletoe.dev/release", "00001.yaml")
    # Each mark alone: its type, its name, its labels, what only an anchor has.
    plain = {**secret("plain"), "type": "mistletoe.dev/release"}
    refused(t, t.package("evil", plain), f"Secret plain has the type mistletoe.dev/release")
    refused(t, t.package("evil", secret("mistletoe.shop")), where, "begins with")
    refused(t, t.package("evil", secret("mistletoe.shop.v0")), "mistletoe.shop.v0")
    for mark in ("mistletoe.dev/record", "mistletoe.dev/release-name", "mistletoe.dev/revision",
                 "applyset.kubernetes.io/id"):
        refused(t, t.package("evil", secret("plain", labels={mark: "x"})), f"Secret plain sets the label {mark}")
    for mark in ("mistletoe.dev/head", "mistletoe.dev/lock", "applyset.kubernetes.io/contains-group-kinds"):
        refused(t, t.package("evil", config_map("plain", annotations={mark: "x"})),
                f"ConfigMap plain sets the annotation {mark}")
    # In another namespace, in a List, as a test.
    other = t.namespace("other")
    refused(t, t.package("evil", anchor("shop", namespace=other)), f"Secret {other}/mistletoe.shop")
    refused(t, t.package("evil", {"apiVersion": "v1", "kind": "List", "items": [anchor("shop")]}), where)
    refused(t, t.package("evil", config_map("a"), secret("mistletoe.shop", annotations={"mistletoe.dev/test": "true"})),
            where)
    # What a controller would make of a template.
    claim = {"metadata": {"name": "data", "labels": {"applyset.kubernetes.io/part-of": "x"}},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}
    refused(t, t.package("evil", {
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "db", "volumeClaimTemplates": [claim],
                 "template": {"metadata": {"labels": {"a": "b"}},
                              "spec": {"containers": [{"name": "c", "image": "example.com/c:1"}]}}}}),
            f"StatefulSet db", "spec.volumeClaimTemplates.metadata.labels")
    # The release that it was for is born with a seed of its own.
    t.run("install", "shop", "-p", t.package("p", config_map("a")))
    check(t.kube.get("Secret", t.ns, "mistletoe.shop")["data"]["seed"] != anchor("shop")["data"]["seed"])
    # What is there already isn't taken over either.
    refused(t, t.package("evil", secret("mistletoe.shop")), where)
    t.refused("install", "evil", "--adopt", "-p", t.package("evil", anchor("shop")), says=[where])


@test
def forged_records_of_charts_kustomizations_and_programs_are_refused(t):
    refused(t, chart(t, anchor("shop")), f"Secret mistletoe.shop", "templates/00000.yaml")
    forged = anchor("shop")
    forged["metadata"]["annotations"] = {"helm.sh/hook": "post-install,pre-delete"}
    forged["metadata"]["labels"] = {}
    refused(t, chart(t, config_map("a"), forged), f"Secret mistletoe.shop")
    forged["metadata"]["annotations"] = {"helm.sh/hook": "test"}
    refused(t, chart(t, config_map("a"), forged), f"Secret mistletoe.shop")
    computed = '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "{{ print "mistletoe" "." "shop" }}"}}\n'
    refused(t, chart(t, files={"templates/a.yaml": computed}), f"Secret mistletoe.shop")
    refused(t, t.files("kustom", {
        "kustomization.yaml": "resources: [a.yaml]\nnamePrefix: mistletoe.\n", "a.yaml": json.dumps(secret("shop"))}),
            f"Secret mistletoe.shop")
    refused(t, t.files("kustom", {
        "kustomization.yaml": "resources: [a.yaml]\ncommonLabels: {mistletoe.dev/record: anchor}\n",
        "a.yaml": json.dumps(secret("plain"))}), f"Secret plain sets the label mistletoe.dev/record")
    refused(t, t.files("nickel", {"main.ncl": json.dumps([anchor("shop")]).replace('":', '" =')}),
            f"Secret mistletoe.shop")


@test
def a_package_cannot_have_its_pods_read_a_record(t):
    t.run("install", "shop", "-p", t.package("p", config_map("a")))
    def pod(**spec):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "spy"},
                "spec": {"containers": [{"name": "c", "image": "example.com/c:1", **spec.pop("container", {})}], **spec}}
    for spy in (pod(volumes=[{"name": "v", "secret": {"secretName": "mistletoe.shop"}}]),
                pod(volumes=[{"name": "v", "projected": {"sources": [{"secret": {"name": "mistletoe.shop"}}]}}]),
                pod(container={"envFrom": [{"secretRef": {"name": "mistletoe.shop"}}]}),
                pod(container={"env": [{"name": "S", "valueFrom": {"secretKeyRef": {"name": "mistletoe.shop",
                                                                                     "key": "seed"}}}]})):
        refused(t, t.package("evil", spy), f"Pod spy refers to Secret mistletoe.shop", "00000.yaml")


@test
def a_blueprint_can_neither_make_nor_read_a_record(t):
    address = define(t)
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": FORGING % address.split("/")[2]}})
    Operator(t)
    t.kube.checked("POST", address, {"apiVersion": "/".join(address.split("/")[2:4]), "kind": "App",
                                     "metadata": {"name": "web"}, "spec": {"image": "example.com/a:1", "replicas": 1}})
    t.kube.wait("the status says why", lambda: "mistletoe.dev/release" in condition(t, address).get("message", ""))
    equal(condition(t, address)["reason"], "Failed")
    check(t.kube.get("Secret", t.ns, "mistletoe.shop") is None, "the operator made a record")


FORGING = """{
  kind = { group = "%s", version = "v1", kind = "App" },
  nodes = { forged = { own = fun given => {
    apiVersion = "v1", kind = "Secret", type = "mistletoe.dev/release",
    metadata = { name = "mistletoe.shop", namespace = given.instance.metadata.namespace } } } },
  also = [{ from = "instance", to = "forged" }],
  sequence = [],
}
"""


@test
def an_inventory_that_names_objects_of_others_deletes_none_of_them(t):
    """The author of the forgery may write Secrets of the namespace, and nothing of what the inventory names."""
    victim_ns = t.namespace("victim")
    victims = [("Secret", victim_ns, "crown-jewels"), ("ConfigMap", t.ns, "mine"), ("Namespace", None, victim_ns)]
    t.kube.create("Secret", victim_ns, secret("crown-jewels"))
    t.kube.create("ConfigMap", t.ns, config_map("mine"))
    one, two = t.package("one", config_map("a"), config_map("b")), t.package("two", config_map("a"))

    def forge(release, revision):
        name = f"mistletoe.{release}.v{revision}"
        record = t.kube.get("Secret", t.ns, name)
        inventory = unpacked(record, "inventory")
        for kind, ns, victim in victims:
            live = t.kube.get(kind, ns, victim)
            inventory.append({"group": "", "version": "v1", "kind": kind, "namespace": ns or "", "name": victim,
                              "uid": live["metadata"]["uid"], "revision": 0})
        # As one who can write the anchor too: nothing of the record is sealed.
        unseal(t, release)
        t.kube.patch("Secret", t.ns, name, {"data": {"inventory": blob(inventory)}})

    def all_are_there(when):
        for kind, ns, victim in victims:
            live = t.kube.get(kind, ns, victim)
            check(live is not None and "deletionTimestamp" not in live["metadata"], f"{kind} {victim}: {when}")

    flags = ("--delete-namespaces", "--delete-pvcs", "--delete-crds")
    t.run("install", "web", "-p", one)
    forge("web", 0)
    t.run("upgrade", "web", "-p", two, *flags)
    all_are_there("after an upgrade")
    forge("web", 1)
    t.run("rollback", "web", "0", *flags)
    all_are_there("after a rollback")
    forge("web", 2)
    said = t.run("uninstall", "web", "--yes", *flags)
    all_are_there("after an uninstall")
    contains(said.out + said.err, "crown-jewels")
    equal(t.owned("web"), set())
    # A run that dies before it recorded the uid of what it made.
    t.run("install", "web", "-p", one)
    forge("web", 0)
    t.run("uninstall", "web", "--yes", *flags)
    all_are_there("after another uninstall")


def unseal(t, release):
    t.kube.patch("Secret", t.ns, f"mistletoe.{release}",
                 {"metadata": {"annotations": {"mistletoe.dev/head-seal": None}},
                  "data": {"key": None, "seal": None, "sealedFrom": None}})


def sealed(text):
    return json.loads(base64.b64decode(text))


def forge_record(t, name, change):
    """Rewrites what a revision's Secret holds, digests and all, as one who may write Secrets can."""
    record = t.kube.get("Secret", t.ns, name)
    value = unpacked(record, "record")
    change(value)
    t.kube.patch("Secret", t.ns, name, {"data": {"record": blob(value)}})


def binding(name):
    return {"file": "a.yaml", "line": 1, "object": {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mallory"}]}}


@test
def a_revision_that_was_forged_is_neither_rolled_back_to_nor_finished(t):
    evil = f"{t.ns}-evil"
    t.cleanup(lambda: t.kube.get("ClusterRoleBinding", None, evil) and t.kube.delete("ClusterRoleBinding", None, evil))
    t.run("install", "web", "-p", t.package("one", config_map("a"), config_map("b")))
    t.run("upgrade", "web", "-p", t.package("two", config_map("a")))
    forge_record(t, "mistletoe.web.v0", lambda record: record["objects"].append(binding(evil)))
    for arguments in (("rollback", "web"), ("rollback", "web", "0")):
        t.refused(*arguments, says=["mistletoe.web.v0", "seal"])
    check(t.kube.get("ClusterRoleBinding", None, evil) is None, "a forged revision was applied")
    # The deployed one.
    forge_record(t, "mistletoe.web.v1", lambda record: record["objects"].append(binding(evil)))
    for arguments in (("rollback", "web", "1"), ("recover", "web"), ("recover", "web", "--undo"), ("upgrade", "web"),
                      ("drift", "web", "--fix")):
        outcome = t.run(*arguments, code=None)
        check(outcome.code != 0, outcome)
    check(t.kube.get("ClusterRoleBinding", None, evil) is None, "a forged revision was applied")
    contains(t.run("status", "web").err, "mistletoe.web.v1", "seal")
    # What is there is recorded again, without what was forged.
    report = t.run("recover", "web", "--from-labels", "--yes", "-o", "json").json
    equal((report["outcome"], report["record"]["unproven"]), ("rebuilt", 1))
    t.run("upgrade", "web", "-p", t.package("two", config_map("a")))
    t.run("uninstall", "web", "--yes")
    check(t.kube.get("ClusterRoleBinding", None, evil) is None, "a forged revision was applied")
    equal((t.owned("web"), t.record("web")), (set(), []))


@test
def a_revision_of_another_release_or_another_life_is_not_believed(t):
    for name in ("web", "other"):
        t.run("install", name, "-p", t.package("one", config_map(f"{name}-a")))
        t.run("upgrade", name, "-p", t.package("two", config_map(f"{name}-b")))
    old = t.kube.get("Secret", t.ns, "mistletoe.web.v0")
    other = t.kube.get("Secret", t.ns, "mistletoe.other.v0")
    t.kube.patch("Secret", t.ns, "mistletoe.web.v0", {"data": other["data"]})
    t.refused("rollback", "web", says=["seal"])
    t.kube.patch("Secret", t.ns, "mistletoe.web.v0", {"data": old["data"]})
    t.run("rollback", "web")
    t.run("uninstall", "web", "--yes")
    t.run("install", "web", "-p", t.package("one", config_map("web-a")))
    t.run("upgrade", "web", "-p", t.package("two", config_map("web-b")))
    t.kube.patch("Secret", t.ns, "mistletoe.web.v0",
                 {"metadata": {"annotations": old["metadata"]["annotations"]}, "data": old["data"]})
    t.refused("rollback", "web", says=["seal"])


@test
def a_forged_head_or_seed_is_not_believed(t):
    package = t.package("one", config_map("a"))
    t.run("install", "web", "-p", package)
    head = json.dumps({**HEAD, "latest": 0, "deployed": 0, "status": "uninstalling",
                       "options": {"deleteNamespaces": True}})
    t.kube.patch("Secret", t.ns, "mistletoe.web", {"metadata": {"annotations": {"mistletoe.dev/head": head}}})
    t.run("recover", "web")
    equal(t.owned("web"), {"ConfigMap/a"}, "after a forged uninstall")
    t.run("upgrade", "web", "-p", t.package("one", config_map("a", {"x": "y"})))
    check("seal" not in t.run("status", "web").err, "the next write repairs the head")
    t.kube.patch("Secret", t.ns, "mistletoe.web", {"data": {"seed": encoded(b"s" * 32)}})
    t.refused("upgrade", "web", "-p", t.package("one", config_map("a")), says=["seed"])


@test
def without_its_anchor_no_revision_is_believed_unless_the_user_vouches_for_it(t):
    t.run("install", "web", "-p", t.package("one", config_map("a")))
    def lose():
        t.kube.delete("Secret", t.ns, "mistletoe.web")
        newest = [name for name in t.record("web")][-1]
        forge_record(t, newest, lambda record: record["package"].update(reference="evil/package:1"))
    lose()
    said = t.run("recover", "web", "--from-labels", "--yes")
    contains(said.out, "nothing proves that v0", "--trust-record")
    check("evil" not in t.run("status", "web", "-o", "json").out, "the forged package is recorded")
    t.run("upgrade", "web", "-p", t.package("one", config_map("a"), config_map("b")))
    lose()
    t.run("recover", "web", "--from-labels", "--trust-record", "--yes")
    contains(t.run("status", "web", "-o", "json").out, "evil")
    t.refused("recover", "web", "--trust-record", code=2, says=["--from-labels"])


@test
def a_record_of_a_time_before_seals_goes_on_and_is_sealed_by_its_next_write(t):
    t.run("install", "web", "-p", t.package("one", config_map("a")))
    unseal(t, "web")
    t.kube.patch("Secret", t.ns, "mistletoe.web.v0", {"data": {"recordSeal": None, "inventorySeal": None}})
    seed = t.kube.get("Secret", t.ns, "mistletoe.web")["data"]["seed"]
    equal(t.run("status", "web", "-o", "json").json["status"], "deployed")
    t.run("upgrade", "web", "-p", t.package("one", config_map("a"), config_map("b")))
    data = t.kube.get("Secret", t.ns, "mistletoe.web")["data"]
    equal((data["seed"], sealed(data["sealedFrom"])), (seed, 1))
    t.run("rollback", "web")
    equal(t.owned("web"), {"ConfigMap/a"})
    forge_record(t, "mistletoe.web.v1", lambda record: record["objects"].clear())
    t.refused("rollback", "web", "1", says=["seal"])
    t.run("uninstall", "web", "--yes")
    equal((t.owned("web"), t.record("web")), (set(), []))


@test
def what_a_secret_writer_puts_beside_a_record_blocks_with_a_name_and_pushes_nothing_out(t):
    one, two = t.package("one", config_map("a")), t.package("two", config_map("a", {"b": "c"}))
    t.run("install", "web", "-p", one)
    copy = t.kube.get("Secret", t.ns, "mistletoe.web.v0")
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        copy["metadata"].pop(field, None)
    for number in [1, *range(50, 62)]:
        copy["metadata"]["name"] = f"mistletoe.web.v{number}"
        copy["metadata"]["labels"]["mistletoe.dev/revision"] = f"v{number}"
        t.kube.create("Secret", t.ns, copy)
    t.refused("upgrade", "web", "-p", two, says=["Secret mistletoe.web.v1", "kubectl delete secret mistletoe.web.v1"])
    t.kube.delete("Secret", t.ns, "mistletoe.web.v1")
    t.run("upgrade", "web", "-p", two)
    t.refused("rollback", "web", "55", says=["seal"])
    t.run("rollback", "web")
    equal(t.kube.get("ConfigMap", t.ns, "a")["data"], {"key": "a"})
    t.run("uninstall", "web", "--yes")


@test
def an_anchor_that_an_install_finds_is_named(t):
    """Who may write Secrets may put one there; nothing in the cluster tells it from an install that died."""
    t.kube.create("Secret", t.ns, anchor("web"))
    said = t.run("install", "web", "-p", t.package("one", config_map("a")))
    contains(said.err, "web has a record since", "its seed is used again", "mistctl uninstall web")
    t.run("uninstall", "web", "--yes")
    contains(t.run("install", "web", "-p", t.package("one", config_map("a"))).out, "installed")
    check(t.kube.get("Secret", t.ns, "mistletoe.web")["data"]["seed"] != anchor("web")["data"]["seed"])
