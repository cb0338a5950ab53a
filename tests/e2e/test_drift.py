"""drift: what others changed on a release's objects, and putting it back."""
from harness import check, config_map, contains, equal, secret, test, workload


def drift_of(t, *arguments, code=0):
    """{"Kind/name": its entry} of one release."""
    release, = t.run("drift", "shop", "-o", "json", *arguments, code=code).json["releases"]
    return {f"{o['kind']}/{o['name']}": o for o in release["objects"]}


@test
def drift_names_what_changed_and_who_did_it(t):
    package = t.package("p", config_map("settings", {"a": "1", "b": "2"}), secret("key"), config_map("gone"),
                        config_map("same"), workload("Deployment", "web"))
    t.run("install", "shop", "-p", package, "--wait")
    # Controllers have set fields by now, and that is no drift.
    mark = t.mark()
    contains(t.run("drift", "shop", "--exit-code").out, "5 objects are as v0 recorded them")
    requests = t.requests(mark)
    equal([r for r in requests if r.writes], [], "writes")
    check(sum(r.verb == "list" for r in requests) <= 3, "lists:", requests)

    t.kube.patch("ConfigMap", t.ns, "settings", {"data": {"a": "9", "b": None, "extra": "x"}})
    t.kube.patch("Secret", t.ns, "key", {"data": {"password": "c3RvbGVu"}})
    # As kubectl scale and autoscalers do it.
    t.kube.checked("PATCH", t.kube.path("Deployment", t.ns, "web") + "/scale?fieldManager=scaler",
                   {"spec": {"replicas": 3}}, "application/merge-patch+json")
    t.kube.patch("ConfigMap", t.ns, "same", {"metadata": {"annotations": {"note": "x"}}})
    t.kube.delete("ConfigMap", t.ns, "gone")
    found = drift_of(t, "--exit-code", code=3)
    equal({name: o["drift"] for name, o in found.items()},
          {"ConfigMap/settings": "changed", "Secret/key": "changed", "ConfigMap/gone": "missing",
           "Deployment/web": "changed", "ConfigMap/same": "foreign"})
    fields = {f["path"]: (f["recorded"], f["live"]) for f in found["ConfigMap/settings"]["fields"]}
    equal(fields, {".data.a": ("1", "9"), ".data.b": ("2", None)})
    equal([f["path"] for f in found["ConfigMap/settings"]["foreign"]], [".data.extra"])
    equal([(f["path"], f["recorded"], f["live"]) for f in found["Deployment/web"]["fields"]], [(".spec.replicas", 1, 3)])
    equal(found["Deployment/web"]["fields"][0]["managers"], ["scaler"])
    text = t.run("drift", "shop").out
    contains(text, ".data.password: ***, recorded is ***", ".spec.replicas: 3, recorded is 1 (by scaler")
    check("c3RvbGVu" not in text, text)

    fixed = t.run("drift", "shop", "--fix", "--exit-code")
    contains(fixed.out, "4 of 5 objects drifted from v0, fixed by v1; 2 fields that only others set stay",
             "extra: \"x\", set by", "not recorded, so it stays")
    settings = t.kube.get("ConfigMap", t.ns, "settings")["data"]
    equal(settings, {"a": "1", "b": "2", "extra": "x"}, "what is not ours stays")
    equal(t.kube.get("Deployment", t.ns, "web")["spec"]["replicas"], 1)
    check(t.kube.get("ConfigMap", t.ns, "gone"), "it was not created again")
    # Only what others set is left, which is no drift unless asked for.
    equal({o["drift"] for o in drift_of(t, "--exit-code").values()}, {"foreign"})
    t.run("drift", "shop", "--exit-code", "--strict", code=3)
    mark = t.mark()
    t.run("drift", "shop", "--fix")
    equal([r for r in t.requests(mark) if r.writes], [], "writes when nothing drifted")


@test
def what_was_made_anew_from_a_copy_stays_the_releases(t):
    package = t.package("p", config_map("one", {"a": "1"}), config_map("two", {"a": "1"}))
    t.run("install", "shop", "-p", package)

    def make_anew(name):
        copy = t.kube.get("ConfigMap", t.ns, name)
        for field in ("uid", "resourceVersion", "managedFields", "creationTimestamp"):
            copy["metadata"].pop(field, None)
        t.kube.delete("ConfigMap", t.ns, name)
        t.kube.create("ConfigMap", t.ns, copy)

    make_anew("one")
    contains(t.run("drift", "shop").out, "ConfigMap", "one", "recreated")
    contains(t.run("upgrade", "shop").out, "revision 1")
    equal(t.kube.get("ConfigMap", t.ns, "one")["metadata"]["labels"]["mistletoe.dev/tied-to-install-version"], "v1")
    t.run("drift", "shop", "--exit-code")
    make_anew("two")
    t.run("uninstall", "shop", "--yes")
    check(not t.kube.get("ConfigMap", t.ns, "one") and not t.kube.get("ConfigMap", t.ns, "two"), "left behind")


@test
def drift_of_a_whole_namespace(t):
    for name in ("one", "two"):
        t.run("install", name, "-p", t.package(name, config_map(f"of-{name}")))
    t.run("drift", "--all", "--exit-code")
    t.kube.delete("ConfigMap", t.ns, "of-two")
    releases = {r["name"]: r["drifted"] for r in t.run("drift", "--all", "--exit-code", "-o", "json", code=3).json["releases"]}
    equal(releases, {"one": False, "two": True})
    t.run("drift", "--all", "--fix")
    check(t.kube.get("ConfigMap", t.ns, "of-two"), "it was not created again")
    t.refused("drift", code=2, says=["--all"])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nowhere"},
           "spec": {"nodeSelector": {"no": "such-node"}, "containers": [{"name": "c", "image": "i"}]}}
    t.refused("install", "three", "-p", t.package("three", pod), "--wait", "--timeout", "1s")
    contains(t.run("drift", "--all").err, "never deployed", "1 release", f"{t.ns}/three")


@test
def drift_refuses_to_take_what_somebody_else_made(t):
    t.run("install", "shop", "-p", t.package("p", config_map("settings")))
    t.kube.delete("ConfigMap", t.ns, "settings")
    t.kube.create("ConfigMap", t.ns, {"metadata": {"name": "settings"}, "data": {"key": "theirs"}})
    equal(drift_of(t)["ConfigMap/settings"]["drift"], "not ours")
    t.refused("drift", "shop", "--fix", says=["settings"])
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"key": "theirs"})
    t.run("drift", "shop", "--fix", "--adopt")
    equal(t.kube.get("ConfigMap", t.ns, "settings")["data"], {"key": "settings"})


@test
def defaults_of_an_object_whose_managers_were_forgotten_are_nobodys(t):
    """Its fields are before-first-apply's then, those that the server filled in among them."""
    t.run("install", "shop", "-p", t.package("p", workload("Deployment", "web")))
    t.kube.patch("Deployment", t.ns, "web", {"spec": {"minReadySeconds": 7}})
    t.kube.patch("Deployment", t.ns, "web", {"metadata": {"managedFields": [{}]}})
    t.run("upgrade", "shop", "-p", t.package("p", workload("Deployment", "web", replicas=2)))
    managers = {m["manager"] for m in t.kube.get("Deployment", t.ns, "web")["metadata"]["managedFields"]}
    check("before-first-apply" in managers, managers)
    foreign = {f["path"] for f in drift_of(t)["Deployment/web"]["foreign"]}
    # Its controller's annotation is nobody's default.
    equal(foreign - {'.metadata.annotations["deployment.kubernetes.io/revision"]'}, {".spec.minReadySeconds"})
