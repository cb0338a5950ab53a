"""What `mistctl blueprint simulate` says of a blueprint is what the operator does on a real control plane, action by action: for
random blueprints, and for changes of the instance, children that somebody deletes, guards that flip, absence, and teardown."""
import collections
import json
import os
import random
import re
import time

from harness import check, equal, test
from test_blueprint_commands import printed
from test_demo import ROOT
from test_operator import Operator

KINDS = {f"{kind.lower()}s": kind for kind in ("ConfigMap", "Job", "Service", "Deployment", "RoleBinding", "Namespace", "ResourceQuota",
                                               "LimitRange", "ServiceAccount")} | {"networkpolicies": "NetworkPolicy"}
ACTION = re.compile(r"(create|change|delete|let go of) (\S+) (?:\S+/)?(\S+) \(node (\S+)\)")


def config(name, data, labels=None):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **({"labels": labels} if labels else {})}, "data": data}


class Random:
    """A random blueprint of ConfigMaps, and what may happen to it. The same for the same seed."""

    def __init__(self, t, seed):
        self.dice = random.Random(seed)
        self.name = f"r{seed}"
        self.kind, self.plural = f"R{seed}", f"r{seed}s"
        names = "abcdefg"[:2 + self.dice.randrange(6)]
        self.types = {name: self.dice.choices(["own", "read", "value", "absent", "list"], [60, 12, 14, 8, 6])[0] for name in names}
        self.many = {name for name in names if self.types[name] == "own" and self.chance(12)}
        self.objects = {name: {"own": "own", "read": "ext", "absent": "old"}.get(self.types[name], "none") + f"-{name}" for name in names}
        order = list(names)
        self.dice.shuffle(order)
        states = [name for name in order if self.types[name] in ("own", "absent") and name not in self.many][:3] if self.chance(30) else []
        if len(states) > 1:
            for name in states:
                self.objects[name] = "state"
        self.extracts = {name: [] for name in names}
        edges = []
        for at, source in enumerate(order):
            for target in order[at + 1:]:
                both = len(states) > 1 and source in states and target in states
                if both and states.index(target) == states.index(source) + 1 or self.chance(35):
                    edges.append(self.edge(source, target, both, len(edges)))
        also, values = [], [name for name in names if self.types[name] == "value"]
        self.wants = []
        for at, name in enumerate(names):
            edge = {"from": self.dice.choice(names[:at]) if at and self.chance(25) else "instance", "to": name}
            guard = self.dice.randrange(100)
            if guard < 25:
                edge["when"] = f"spec.want_{name}"
                self.wants.append(f"want_{name}")
            elif guard < 40 and values and self.types[name] != "value":
                edge["given"] = self.dice.choice(values)
            also.append(edge)
        nodes = ",\n".join(f"    {name} = {self.node(name)}" for name in names)
        self.text = f'''let m = import "mistletoe.ncl" in
let text = fun value => std.serialize 'Json value in
{{
  kind = {{ group = "{t.ns}.example.com", version = "v1", kind = "{self.kind}", plural = "{self.plural}",
           crd = 'manage, spec = {{ .. }} }},
  nodes = {{
{nodes},
  }},
  also = [{", ".join(self.record(each) for each in also)}],
  sequence = [{", ".join(self.record(each) for each in edges)}],
}} | m.Blueprint
'''
        self.instance = {"apiVersion": f"{t.ns}.example.com/v1", "kind": self.kind, "metadata": {"name": self.name, "namespace": t.ns},
                         "spec": {"x": "0", "many": [1, 2], **{want: self.chance(60) for want in self.wants}}}

    def chance(self, percent):
        return self.dice.randrange(100) < percent

    @staticmethod
    def record(edge):
        def value(key, of):
            if isinstance(of, dict):
                return "{" + ", ".join(f"{name} = {value('', each)}" for name, each in of.items()) + "}"
            return f"'{of}" if key in ("until", "gate") else json.dumps(of)
        return "{" + ", ".join(f"{key} = {value(key, of)}" for key, of in edge.items()) + "}"

    def edge(self, source, target, both, number):
        edge = {"from": source, "to": target}
        of_object = self.types[source] in ("own", "read")
        if of_object and self.chance(40):
            edge["until"] = "present"
        elif of_object and not both and self.chance(8):
            edge["until"] = self.dice.choice(["gone", "terminating"])
        gate = self.dice.randrange(100)
        if gate < 10 and not both:
            edge["gate"] = "soft"
        elif gate < 20:
            edge["gate"] = "continuous"
        if self.types[source] != "absent" and not both and edge.get("until") not in ("gone", "terminating") and self.chance(45):
            path = "." if self.types[source] == "value" else "data.x"
            default = edge.get("gate") == "soft" or self.chance(40)
            edge["extract"] = {f"in{number}": {"path": path, "default": "none"} if default else path}
            self.extracts[target].append(f"in{number}")
        return edge

    def node(self, name):
        kind = self.types[name]
        inputs = self.extracts[name]
        arguments = "{ instance, " + "".join(each + ", " for each in inputs) + ".. }"
        called = f'"{self.name}-{self.objects[name]}"'
        if kind == "value":
            return f'{{ value = fun {arguments} => {self.dice.choice(["true", "instance.spec.x == " + json.dumps(self.dice.choice("01"))])} }}' \
                if not inputs else f'{{ value = fun {arguments} => text {inputs[0]} != "\\"0\\"" }}'
        if kind == "list":
            return f'{{ list = fun {arguments} => {{ apiVersion = "v1", kind = "ConfigMap", namespace = instance.metadata.namespace, ' \
                   f'labels = {{ listed = "{self.name}" }} }} }}'
        if kind in ("read", "absent"):
            return f'{{ {kind} = fun {arguments} => {{ apiVersion = "v1", kind = "ConfigMap", metadata.name = {called} }} }}'
        data = "{ x = instance.spec.x" + "".join(f", of_{each} = text {each}" for each in inputs) + \
               (f', state = "{name}"' if self.objects[name] == "state" else "") + " }"
        if name in self.many:
            made = f'instance.spec.many |> std.array.map (fun n => {{ apiVersion = "v1", kind = "ConfigMap", ' \
                   f'metadata.name = "{self.name}-{self.objects[name]}-%{{std.to_string n}}", data = {data} }})'
        else:
            made = f'{{ apiVersion = "v1", kind = "ConfigMap", metadata.name = {called}, data = {data} }}'
        policy = f", policy = '{self.dice.choice(['orphan', 'retain'])}" if self.chance(12) else ""
        return f"{{ own = fun {arguments} => {made}{policy} }}"

    def next(self, there):
        """An event. `there`: "Kind ns/name" of all objects."""
        mine = sorted(each.split("/")[1] for each in there)
        others = [f"{self.name}-{of}" for name, of in self.objects.items() if self.types[name] in ("read", "absent")]
        choices = [{"instance": {"spec": {"x": self.dice.choice("012")}}}]
        choices += [{"instance": {"spec": {want: self.chance(50)}}} for want in self.wants] * 2
        if self.many:
            choices.append({"instance": {"spec": {"many": self.dice.choice([[1], [1, 2], [2, 3], [1, 2, 3]])}}})
        choices += [{"remove": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}} for name in mine]
        choices += [{"write": config(name, {"x": self.dice.choice("01")})} for name in others if "-state" not in name] * 2
        choices += [{"write": config(name, {self.dice.choice(["x", "y"]): self.dice.choice("019")})} for name in mine if "-own-" in name]
        if "list" in self.types.values():
            choices.append({"write": config(f"{self.name}-listed-{self.dice.randrange(3)}", {"x": self.dice.choice("01")},
                                            {"listed": self.name})})
        return self.dice.choice(choices)


class Scene:
    """A blueprint on the control plane, beside its simulation."""

    def __init__(self, t, name, text, instance, plural, prefix=""):
        """`prefix`: of the names of its objects, where the operator has other instances too."""
        self.t, self.name, self.instance, self.events, self.told, self.prefix = t, name, instance, [], None, prefix
        self.where = f"/apis/{instance['apiVersion']}/namespaces/{t.ns}/{plural}"
        self.directory = t.files(f"blueprint-{name}", {"blueprint.ncl": text})
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": f"blueprint-{name}", "labels": {"mistletoe.dev/blueprint": "true"}},
                                          "data": {"blueprint.ncl": text}})
        t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, f"{plural}.{instance['apiVersion'].split('/')[0]}"))
        self.related = collections.defaultdict(set, related(printed(t, "graph", self.directory)["sequence"]))
        self.at = f"{self.where}/{instance['metadata']['name']}"
        t.cleanup(lambda: t.kube.request("PATCH", self.at, {"metadata": {"finalizers": None}},
                                         content_type="application/merge-patch+json"))

    def play(self, event=None):
        """The next step, as the simulation has it."""
        if event:
            self.events.append(event)
        path = self.t.file(f"{self.name}.yaml", json.dumps({"instance": self.instance, "events": self.events}))
        run = self.t.run("blueprint", "simulate", self.directory, "--scenario", path, "-o", "json", code=None)
        check(run.code in (0, 1) and run.json, run.err)
        self.told = run.json["steps"][-1]
        self.settles = run.json["settled"]
        return self.told

    def happen(self):
        """The last event, on the control plane."""
        kube = self.t.kube
        (what, of), = self.events[-1].items() if self.events else [("make", None)]
        if what == "make":
            kube.wait("the kind is served", lambda: kube.request("GET", self.where)[0] == 200)
            kube.checked("POST", self.where, self.instance)
        elif what == "instance":
            kube.checked("PATCH", self.at, of, content_type="application/merge-patch+json")
        elif what == "deleteInstance":
            kube.checked("DELETE", self.at)
            return
        if what == "remove":
            kube.checked("DELETE", self.place(of, of["metadata"]["name"]))
        elif what == "write":
            if kube.request("GET", self.place(of, of["metadata"]["name"]))[0] == 200:
                kube.checked("PATCH", self.place(of, of["metadata"]["name"]), of, content_type="application/merge-patch+json")
            else:
                kube.checked("POST", self.place(of), of)

    def place(self, of, name=""):
        base = "/api/v1" if of["apiVersion"] == "v1" else f"/apis/{of['apiVersion']}"
        plural = next(resource for resource, kind in KINDS.items() if kind == of["kind"])
        return f"{base}/namespaces/{of['metadata'].get('namespace', self.t.ns)}/{plural}" + (f"/{name}" if name else "")

    def ready(self):
        """(status, reason) of what is there now; None: it is gone."""
        status, instance = self.t.kube.request("GET", self.at)
        if status == 404:
            return None
        found = [each for each in instance.get("status", {}).get("conditions", []) if each["type"] == "Ready"]
        if not found or found[0]["observedGeneration"] != instance["metadata"]["generation"]:
            return ("", "")
        return words(found[0])

    def wanted(self):
        return self.told["ready"] and words(self.told["ready"])

    def actions(self):
        """Those of the simulation: ((verb, kind, name), round, node)."""
        found = []
        for number, round_ in enumerate(self.told["rounds"]):
            for action in round_["actions"]:
                if match := ACTION.fullmatch(action):
                    verb, kind, name, node = match.groups()
                    found.append(((verb.removesuffix(" of"), kind, name), number, node))
        return found

    def done(self, mark):
        """The same of the operator, in the order of the API server's answers."""
        found = []
        for each in self.t.requests(mark):
            kind = KINDS.get(each.resource)
            if not each.writes or each.code >= 300 or not kind or each.name.startswith("blueprint-") or not each.name.startswith(self.prefix):
                continue
            applies = "fieldManager=mistletoe-operator" in each.uri
            verb = "delete" if each.verb == "delete" else "let go" if not applies else "create" if each.code == 201 else "change"
            found.append((verb, kind, each.name))
        return found

    def compare(self, mark):
        wanted, actions = self.wanted(), self.actions()
        every = sorted(each for each, _, _ in actions)

        def story():
            return (f"{self.name} after {json.dumps(self.events[-1:])}:\n  said  {wanted} {actions}\n"
                    f"  did   {self.ready()} {self.done(mark)}\n  {json.dumps({'instance': self.instance, 'events': self.events})}")
        try:
            self.t.kube.wait("it is as simulated", lambda: self.ready() == wanted and len(self.done(mark)) >= len(every), 15)
        except AssertionError:
            raise AssertionError(story()) from None
        done = self.done(mark)
        check(sorted(done) == every, story())
        # Of one round after another; what the operator does for nodes between which no edge leads may overlap.
        places = numbered(done)
        said = [(key, number, node) for key, (_, number, node) in zip(numbered([each for each, _, _ in actions]), actions)]
        for first, before, one in said:
            for second, after, other in said:
                if before < after and (first[0][1:] == second[0][1:] or other in self.related[one]):
                    check(places[first] < places[second], f"{first} comes before {second}", story())


def words(ready):
    """A refusal has the server's own words, which the simulation doesn't know."""
    return ready["status"], ready["reason"], *([ready["message"]] if ready["reason"] != "Failed" else [])


def numbered(actions):
    """{(action, which of its occurrences it is): its place}."""
    places, count = {}, {}
    for place, each in enumerate(actions):
        count[each] = count.get(each, 0) + 1
        places[each, count[each]] = place
    return places


def related(edges):
    """By node: those before and after it, however far."""
    onward = {}
    for edge in edges:
        onward.setdefault(edge["from"], set()).add(edge["to"])

    def reach(node, seen):
        for each in onward.get(node, ()):
            if each not in seen:
                seen.add(each)
                reach(each, seen)
        return seen
    names = {edge[end] for edge in edges for end in ("from", "to")}
    after = {name: reach(name, set()) for name in names}
    return {name: after[name] | {each for each in names if name in after[each]} for name in names}


def play(t, scenes, steps):
    """All of them at once, step by step. Returns what differed."""
    differences, alive = [], list(scenes)
    for step in range(steps + 2):
        mark = t.mark()
        for scene, dice in list(alive):
            if step == 0:
                scene.play()
            elif step == steps + 1:
                scene.play({"deleteInstance": True})
            else:
                scene.play(dice.next(scene.told["objects"]))
            if not scene.settles:
                alive.remove((scene, dice))
                continue
            scene.happen()
        time.sleep(0.5)
        for scene, dice in list(alive):
            try:
                scene.compare(mark)
            except AssertionError as failure:
                differences.append(str(failure))
                alive.remove((scene, dice))
    return differences


@test
def a_simulation_of_random_blueprints_is_what_the_operator_does(t):
    first, count = int(os.environ.get("MIST_SEED", "1")), int(os.environ.get("MIST_SCENES", "8"))
    scenes = []
    for seed in range(first, first + count):
        dice = Random(t, seed)
        scenes.append((Scene(t, dice.name, dice.text, dice.instance, dice.plural, f"{dice.name}-"), dice))
    operator = Operator(t)
    differences = play(t, scenes, int(os.environ.get("MIST_STEPS", "6")))
    check(not differences, "\n".join(differences), operator.said() if os.environ.get("MIST_SAID") else "")
    equal(operator.stop(), 0, "exit code")


class Script:
    """What happens, in order."""

    def __init__(self, *events):
        self.events = list(events)

    def next(self, _):
        return self.events.pop(0)


def spec(**changed):
    return {"instance": {"spec": changed}}


def removed(api, kind, name, ns=None):
    return {"remove": {"apiVersion": api, "kind": kind, "metadata": {"name": name, **({"namespace": ns} if ns else {})}}}


def example(t, name, kind, plural, first, *events):
    """One of examples/blueprints, whose instance is `web`."""
    source = ROOT / "examples/blueprints" / name
    text = (source / "blueprint.ncl").read_text().replace('"example.com"', f'"{t.ns}.example.com"')
    if (source / "crd.yaml").exists():
        t.run("install", "kinds", "-p", t.file("crd.yaml", (source / "crd.yaml").read_text().replace("example.com", f"{t.ns}.example.com")),
              "--wait")
        t.cleanup(lambda: t.run("uninstall", "kinds", "--delete-crds", "--yes"))
    instance = {"apiVersion": f"{t.ns}.example.com/v1", "kind": kind, "metadata": {"name": "web", "namespace": t.ns}, "spec": first}
    operator = Operator(t)
    differences = play(t, [(Scene(t, name, text, instance, plural), Script(*events))], len(events))
    check(not differences, "\n".join(differences))
    equal(operator.stop(), 0, "exit code")


@test
def the_example_app_does_what_its_simulation_says(t):
    example(t, "app", "App", "apps", {"image": "nginx:1", "replicas": 2, "publish": True},
            spec(replicas=3), removed("v1", "Service", "web"), removed("apps/v1", "Deployment", "web"), spec(publish=False),
            spec(publish=True), removed("v1", "ConfigMap", "web-address"))


@test
def the_example_blue_green_does_what_its_simulation_says(t):
    example(t, "blue-green", "Site", "sites", {"color": "blue", "image": "shop:1", "replicas": 1},
            spec(color="green", image="shop:2"), removed("apps/v1", "Deployment", "web-green"), spec(replicas=2),
            spec(color="blue", image="shop:3"), removed("v1", "Service", "web"))


@test
def the_example_migration_does_what_its_simulation_says(t):
    example(t, "migration", "Site", "sites", {"version": "1", "replicas": 2},
            {"write": config("host-a", {"host": "a"}, {"example.com/site": "web"})}, spec(version="2"),
            {"write": config("host-b", {"host": "b"}, {"example.com/site": "web"})}, removed("v1", "ConfigMap", "host-a"),
            removed("apps/v1", "Deployment", "web"), spec(version="3", replicas=1))


@test
def the_example_fan_in_does_what_its_simulation_says(t):
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop", "labels": {"example.com/gateway": "web"}},
               "spec": {"ports": [{"port": 80}]}}
    example(t, "fan-in", "Gateway", "gateways", {}, {"write": service}, spec(replicas=2), removed("v1", "Service", "shop"))


@test
def the_example_tenant_does_what_its_simulation_says(t):
    t.cleanup(lambda: t.kube.delete("Namespace", None, "tenant-web"))
    example(t, "tenant", "Tenant", "tenants", {"members": ["ada"], "cpu": "4", "memory": "8Gi", "open_to": []},
            spec(members=["ada", "bob"], cpu="5"), removed("v1", "LimitRange", "tenant", "tenant-web"),
            removed("rbac.authorization.k8s.io/v1", "RoleBinding", "members", "tenant-web"), spec(open_to=["other"]))


def things(t, node):
    """A blueprint of one node, `a`, a ConfigMap with what the instance says, and of `b`, which comes after it."""
    def made(name, data):
        return f'{{ apiVersion = "v1", kind = "ConfigMap", metadata.name = "{name}", data = {data}'
    return f'''let m = import "mistletoe.ncl" in {{
  kind = {{ group = "{t.ns}.example.com", version = "v1", kind = "Thing", crd = 'manage, spec = {{ .. }} }},
  nodes = {{
    a = {{ own = fun {{ instance, .. }} => {made("a", "{ x = instance.spec.x }")} {node},
    b.own = fun {{ given, .. }} => {made("b", "{ x = given }")} }},
  }},
  also = [{{ from = "instance", to = "a" }}, {{ from = "instance", to = "b" }}],
  sequence = [{{ from = "a", to = "b", extract = {{ given = "data.x" }} }}],
}} | m.Blueprint'''


def thing(t, node, *events):
    instance = {"apiVersion": f"{t.ns}.example.com/v1", "kind": "Thing", "metadata": {"name": "web", "namespace": t.ns}, "spec": {"x": "0"}}
    operator = Operator(t)
    differences = play(t, [(Scene(t, "thing", things(t, node), instance, "things"), Script(*events))], len(events))
    check(not differences, "\n".join(differences))
    equal(operator.stop(), 0, "exit code")


def held(*finalizers):
    return {"write": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": list(finalizers)}}}


@test
def a_simulation_knows_whose_fields_they_are(t):
    thing(t, "} }", {"write": config("a", {"y": "1"})}, {"write": config("a", {"x": "9"})}, spec(x="1"), {"write": config("a", {"x": "1"})},
          {"write": config("a", {"x": "7"})}, removed("v1", "ConfigMap", "a"))


@test
def a_simulation_knows_what_a_node_takes_back(t):
    thing(t, "}, force = true }", {"write": config("a", {"x": "9"})}, spec(x="1"), {"write": config("a", {"x": "1"})}, spec(x="2"))


@test
def a_simulation_knows_what_can_not_be_changed_in_place(t):
    thing(t, ", immutable = true } }", spec(x="1"), spec(x="0"), removed("v1", "ConfigMap", "a"))


@test
def a_simulation_knows_what_is_replaced(t):
    thing(t, ", immutable = true }, replace = true }", spec(x="1"), spec(x="2"), removed("v1", "ConfigMap", "a"))


@test
def a_simulation_knows_what_is_held_back(t):
    thing(t, "} }", held("example.com/hold"), removed("v1", "ConfigMap", "a"), spec(x="1"), held())
