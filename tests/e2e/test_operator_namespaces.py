"""The operator in some namespaces only: --watch-namespace, with the Roles that `mistctl blueprint rbac --watch-namespace` prints."""
import pathlib
import subprocess

from harness import check, contains, equal, test
from test_blueprint_commands import RBAC, account, allowed, grant, printed
from test_operator import Operator
from test_operator_faults import GROUP, kind
from test_operator_replicas import served
from test_operator_shares import MANAGED

# A child, which joins the words of all ConfigMaps with a label that the operator can see.
JOIN = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes = {
    parts.list = fun {..} => { apiVersion = "v1", kind = "ConfigMap", labels = { part = "LABEL" } },
    child.own = fun {instance, words, ..} =>
      { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.words = std.string.join " " words },
  },
  also = [{from = "instance", to = "child"}, {from = "child", to = "parts"}],
  sequence = [{from = "parts", to = "child", extract = {words = "data.word"}}],
} | Blueprint'''

# Children where an operator of some namespaces may not put them.
OUTSIDE = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes = {
    inside.own = fun {instance, ..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.a = "1" },
    elsewhere.own = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "web", namespace = "ELSEWHERE" }, data.a = "1" },
    nowhere.own = fun {..} => { apiVersion = "v1", kind = "Namespace", metadata.name = "ELSEWHERE-new" },
    seen.read = fun {..} => { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "web", namespace = "ELSEWHERE" } },
  },
  also = [{from = "instance", to = "inside"}, {from = "instance", to = "elsewhere"},
          {from = "instance", to = "nowhere"}, {from = "instance", to = "seen"}],
} | Blueprint'''


# A child beside each instance.
BESIDE = '''let {Blueprint, ..} = import "mistletoe.ncl" in {
  kind = { group = "GROUP", version = "v1", kind = "Thing" },
  nodes.child.own = fun {instance, ..} => { apiVersion = "v1", kind = "ConfigMap", metadata.name = instance.metadata.name, data.words = "mine" },
  also = [{from = "instance", to = "child"}],
} | Blueprint'''


class NamespacedOperator(Operator):
    """With the rights of an account, in some namespaces."""

    def __init__(self, t, kubeconfig, *namespaces, flags=()):
        self.kubeconfig = kubeconfig
        super().__init__(t, *(f"--watch-namespace={each}" for each in namespaces), *flags)

    def start(self):
        program = pathlib.Path(self.t.mistctl).with_name("mistletoe-operator")
        self.process = subprocess.Popen([program, "-n", self.t.ns, *self.flags], env=self.t.environment(self.kubeconfig),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"))


def put_blueprint(t, text, **words):
    for word, value in {"GROUP": GROUP.format(ns=t.ns), **words}.items():
        text = text.replace(word, value)
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "app", "labels": {"mistletoe.dev/blueprint": "true"}},
                                      "data": {"blueprint.ncl": text}})
    return t.files("app", {"blueprint.ncl": text})


def things(t, ns):
    return f"/apis/{GROUP.format(ns=t.ns)}/v1/namespaces/{ns}/things"


def make_in(t, ns):
    where = things(t, ns)
    t.kube.checked("POST", where, {"apiVersion": f"{GROUP.format(ns=t.ns)}/v1", "kind": "Thing", "metadata": {"name": "web"}, "spec": {}})
    t.cleanup(lambda: t.kube.request("PATCH", f"{where}/web", {"metadata": {"finalizers": None}},
                                     content_type="application/merge-patch+json"))


def put_part(t, ns, word):
    t.kube.create("ConfigMap", ns, {"metadata": {"name": f"part-{word}", "labels": {"part": t.ns}}, "data": {"word": word}})


def words_in(t, ns):
    return ((t.kube.get("ConfigMap", ns, "web") or {}).get("data") or {}).get("words")


def status_of(t, ns):
    conditions = t.kube.checked("GET", f"{things(t, ns)}/web").get("status", {}).get("conditions", [])
    return next((each["message"] for each in conditions if each["type"] == "Ready"), "")


def annotations(t):
    return t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("annotations", {})


def wait_said(t, status, *pieces):
    t.kube.wait(f"the blueprint is {status}", lambda: annotations(t).get("mistletoe.dev/status") == status and all(
        piece in annotations(t).get("mistletoe.dev/message", "") for piece in pieces), 120)


def may_list(t, user, ns, group=None, resource="things"):
    wanted = {"namespace": ns, "verb": "list", "group": GROUP.format(ns=t.ns) if group is None else group, "resource": resource}
    review = t.kube.checked("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": user, "resourceAttributes": wanted}})
    return review["status"]["allowed"]


def with_rights(t, directory, *namespaces, code=0):
    """The kubeconfig of an account with the printed roles, and its name in the audit log."""
    watched = [f"--watch-namespace={each}" for each in namespaces]
    rights = printed(t, "rbac", directory, "-n", t.ns, "--service-account", "worker", *watched, code=code)
    equal({each["kind"] for each in rights["manifests"]}, {"Role", "RoleBinding"}, "kinds of roles")
    equal({each["metadata"]["namespace"] for each in rights["manifests"]}, {t.ns, *namespaces}, "where they are")
    config, user = account(t, "worker")
    grant(t, rights["manifests"])
    t.kube.wait("it has its rights", lambda: allowed(t, user, "list", "", "configmaps"))
    return config, user, rights


@test
def an_operator_of_two_namespaces_needs_roles_in_them_and_nothing_else(t):
    kind(t, "Thing", "things")
    one, two, other = (t.namespace(suffix) for suffix in ("one", "two", "other"))
    directory = put_blueprint(t, JOIN, LABEL=t.ns)
    config, user, _ = with_rights(t, directory, one, two)
    for ns, word in ((one, "a"), (two, "b"), (other, "c")):
        put_part(t, ns, word)
        make_in(t, ns)
    mark = t.mark()
    operator = NamespacedOperator(t, config, two, one)
    t.kube.wait("both children are made", lambda: words_in(t, one) == words_in(t, two) == "a b")
    put_part(t, two, "d")
    t.kube.wait("a list sees both namespaces", lambda: words_in(t, one) == words_in(t, two) == "a b d")
    t.kube.delete("ConfigMap", one, "web")
    t.kube.wait("what is removed comes back", lambda: words_in(t, one) == "a b d")
    contains(operator.said(), f"working in namespaces {one}, {two} only")

    # It looks nowhere else, and tries nothing that it may not do.
    equal(words_in(t, other), None, "what it made in a namespace that it doesn't watch")
    equal(t.kube.checked("GET", f"{things(t, other)}/web")["metadata"].get("finalizers"), None, "the finalizers there")
    asked = t.requests(mark, user)
    equal([each for each in asked if each.code == 403], [], "what it wasn't allowed to do")
    paths = {each.uri.split("?")[0] for each in asked}
    wide = {path for path in paths if path.endswith(("/configmaps", "/things", "/customresourcedefinitions", "/events"))
            and "/namespaces/" not in path}
    equal(wide, set(), "requests for the whole cluster")
    equal({path for path in paths if f"/namespaces/{other}/" in path}, set(), "requests for the other namespace")

    for ns in (one, two):
        t.kube.checked("DELETE", f"{things(t, ns)}/web")
        t.kube.wait("the instance is gone", lambda ns=ns: t.kube.request("GET", f"{things(t, ns)}/web")[0] == 404)
        check(t.kube.get("ConfigMap", ns, "web") is None, "its child")
    equal(operator.stop(), 0, "exit code")


@test
def a_namespace_that_lacks_its_role_stops_nothing_in_the_others(t):
    """As at the start of an operator of which somebody has deleted one of the namespaces."""
    kind(t, "Thing", "things")
    one, two = (t.namespace(suffix) for suffix in ("one", "two"))
    directory = put_blueprint(t, BESIDE)
    config, user, rights = with_rights(t, directory, one, two)
    binding = next(each for each in rights["manifests"] if each["kind"] == "RoleBinding" and each["metadata"]["namespace"] == two)
    bindings = f"{RBAC}/namespaces/{two}/rolebindings"

    def take():
        t.kube.checked("DELETE", f"{bindings}/{binding['metadata']['name']}")
        t.kube.wait("it lacks its rights", lambda: not may_list(t, user, two))

    def give():
        t.kube.checked("POST", bindings, binding)

    def not_watched(ns):
        return f'mistletoe_blueprint_not_watched{{blueprint="app",namespace="{ns}"}} 1' in served(t, operator, "/metrics")[1]

    take()
    for ns in (one, two):
        make_in(t, ns)
    operator = NamespacedOperator(t, config, one, two, flags=("--listen", "127.0.0.1:0"))
    t.kube.wait("the first namespace is looked after", lambda: words_in(t, one) == "mine")
    refusal = f'cannot list resource "things" in API group "{GROUP.format(ns=t.ns)}" in the namespace "{two}"'
    wait_said(t, "NotWatched", f"its instances in namespace {two} can't be listed", f'User "{user}"', refusal)
    contains(operator.said(), f"blueprint app: its instances in namespace {two} can't be listed")
    check(not_watched(two) and not not_watched(one), "the metric")
    t.kube.wait("there is an Event", lambda: any(each["reason"] == "NotWatched" and refusal in each["message"] for each in t.kube.checked(
        "GET", f"/api/v1/namespaces/{t.ns}/events")["items"]))
    t.kube.delete("ConfigMap", one, "web")
    t.kube.wait("what is removed comes back", lambda: words_in(t, one) == "mine")
    equal(words_in(t, two), None, "what was made there")
    check(t.kube.get("ConfigMap", t.ns, "app")["metadata"].get("finalizers"), "the blueprint is kept")

    give()
    t.kube.wait("the other one is looked after, too", lambda: words_in(t, two) == "mine")
    wait_said(t, "InForce")
    t.kube.wait("the metric", lambda: not not_watched(two))
    for ns in (one, two):
        t.kube.checked("DELETE", f"{things(t, ns)}/web")
        t.kube.wait("the instance is gone", lambda ns=ns: t.kube.request("GET", f"{things(t, ns)}/web")[0] == 404)
    equal(operator.stop(), 0, "exit code")


@test
def a_right_to_children_that_is_missing_in_one_namespace_stops_nothing_in_the_others(t):
    kind(t, "Thing", "things")
    one, two = (t.namespace(suffix) for suffix in ("one", "two"))
    directory = put_blueprint(t, BESIDE)
    config, user, rights = with_rights(t, directory, one, two)
    role = next(each for each in rights["manifests"] if each["kind"] == "Role" and each["metadata"]["namespace"] == two)
    path = f"{RBAC}/namespaces/{two}/roles/{role['metadata']['name']}"
    less = [{**rule, "resources": [each for each in rule["resources"] if each != "configmaps"] or ["nothing"]} for rule in role["rules"]]
    check(less != role["rules"], "a rule for ConfigMaps", role["rules"])
    t.kube.checked("PATCH", path, {"rules": less}, "application/merge-patch+json")
    t.kube.wait("it lacks its rights", lambda: not may_list(t, user, two, "", "configmaps"))
    for ns in (one, two):
        make_in(t, ns)
    operator = NamespacedOperator(t, config, one, two)
    t.kube.wait("the first namespace is looked after", lambda: words_in(t, one) == "mine")
    t.kube.wait("the status says what is missing", lambda: f'cannot list resource "configmaps" in API group "" in the namespace "{two}"'
                in status_of(t, two))
    wait_said(t, "InForce")
    t.kube.delete("ConfigMap", one, "web")
    t.kube.wait("what is removed comes back", lambda: words_in(t, one) == "mine")
    t.kube.checked("PATCH", path, {"rules": role["rules"]}, "application/merge-patch+json")
    t.kube.wait("the other one is looked after, too", lambda: words_in(t, two) == "mine")
    for ns in (one, two):
        t.kube.checked("DELETE", f"{things(t, ns)}/web")
        t.kube.wait("the instance is gone", lambda ns=ns: t.kube.request("GET", f"{things(t, ns)}/web")[0] == 404)
    equal(operator.stop(), 0, "exit code")


@test
def an_operator_of_some_namespaces_refuses_what_is_outside(t):
    kind(t, "Thing", "things")
    inside, elsewhere = t.namespace("inside"), t.namespace("elsewhere")
    directory = put_blueprint(t, OUTSIDE, ELSEWHERE=elsewhere)
    config, user, rights = with_rights(t, directory, inside, code=1)
    equal(rights["outside"], ["nowhere"], "nodes whose objects are in no namespace")
    make_in(t, inside)
    mark = t.mark()
    operator = NamespacedOperator(t, config, inside)
    t.kube.wait("what is inside is made", lambda: t.kube.get("ConfigMap", inside, "web"))
    t.kube.wait("the status says what is outside", lambda: f"works only in namespace {inside} (--watch-namespace)" in status_of(t, inside))
    graph = printed(t, "status", f"thing.{GROUP.format(ns=t.ns)}/web", "-n", inside)
    equal({node["name"]: node["state"] for node in graph["nodes"]}["inside"], "Ready", "the state of what is inside")
    asked = t.requests(mark, user)
    equal([each.uri for each in asked if each.code == 403 or f"/namespaces/{elsewhere}" in each.uri], [], "what it tried outside")
    check(t.kube.get("ConfigMap", elsewhere, "web") is None and t.kube.get("Namespace", None, f"{elsewhere}-new") is None,
          "what it made outside")
    equal(operator.stop(), 0, "exit code")


@test
def an_operator_without_rights_to_crds_says_who_has_to_apply_them(t):
    group, inside = GROUP.format(ns=t.ns), t.namespace("inside")
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"things.{group}"))
    directory = put_blueprint(t, MANAGED)
    config, _, rights = with_rights(t, directory, inside, code=1)
    equal(rights["unmanagedCrd"], f"things.{group}", "the CRD that it may not apply")
    operator = NamespacedOperator(t, config, inside)
    wait_said(t, "Rejected", "customresourcedefinitions", "forbidden", "kind.crd = 'await", "mistctl blueprint crd")

    # It is awaited by what the server serves.
    awaiting = MANAGED.replace("GROUP", group).replace("crd = 'manage", "crd = 'await")
    t.kube.patch("ConfigMap", t.ns, "app", {"data": {"blueprint.ncl": awaiting}})
    wait_said(t, "AwaitingCRD", "Thing")
    crd = t.run("blueprint", "crd", t.file("awaiting/blueprint.ncl", awaiting), "-o", "json").json
    t.kube.checked("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    wait_said(t, "InForce", f"nobody knows whether CustomResourceDefinition things.{group} fits the contract")
    make_in(t, inside)
    t.kube.wait("the child is made", lambda: t.kube.get("ConfigMap", inside, "web"))
    t.kube.checked("DELETE", f"{things(t, inside)}/web")
    t.kube.wait("the instance is gone", lambda: t.kube.request("GET", f"{things(t, inside)}/web")[0] == 404)
    equal(operator.stop(), 0, "exit code")
