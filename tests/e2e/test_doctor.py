"""doctor: would an install work, and if not, why."""
from harness import check, contains, equal, kubeconfig_text, test


@test
def doctor_finds_nothing_wrong_and_what_is_wrong(t):
    well = t.run("doctor", "--events", "lines", code=None)
    # The home of a test has the default registry, which is not reachable from everywhere.
    states = {f"{c['area']} {c['name']}": c for c in t.run("doctor", "-o", "json", code=None).json["checks"]}
    for name in ("cluster server", "cluster clock", "cluster namespace", "cluster permission secrets", "sandbox WebAssembly"):
        equal(states[name]["state"], "ok", f"{name} in {well}")
    _, token = t.identity("nobody")
    poor = t.file("poor", kubeconfig_text(t.kube.server, {"token": token}, t.kube.ca, t.ns))
    refused = t.run("doctor", kubeconfig=poor, code=1)
    contains(refused.out, "fail    cluster: permission secrets: not allowed: get, list, create, patch, delete",
             "try: ask an administrator")
    contains(refused.out, 'resources: [secrets], verbs: [get, list, create, patch, delete]}')
    local = t.run("doctor", "--offline", code=None)
    contains(local.out, "skipped cluster: server: not asked")
    check("all is well" not in local.out, local)
    wrong = t.run("doctor", "-n", "No_Such", code=1)
    contains(wrong.out, 'fail    cluster: namespace: "No_Such" can\'t be the name of a namespace')
    check("--create-namespace" not in wrong.out, wrong)
    missing = t.run("doctor", "-n", "no-such-namespace", code=None)
    contains(missing.out, "warn    cluster: namespace: no-such-namespace does not exist", "--create-namespace")
    dead = t.file("dead", kubeconfig_text("https://127.0.0.1:1", {"token": "x"}))
    contains(t.run("doctor", kubeconfig=dead, code=1).out, "fail    cluster: server: ", "skipped cluster: permissions")
    check("token" not in refused.out, refused)


@test
def a_secret_that_the_server_refuses_is_not_quoted(t):
    hidden = "topsecretvalue"
    for name, body in (("typed", {"data": {"password": {"deep": hidden}}}), ("base64", {"data": {"password": f"#{hidden}#"}}),
                       ("key", {"stringData": {"bad key!": hidden}})):
        package = t.package(name, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **body})
        for more in ([], ["--dry-run=server"], ["-o", "json"]):
            outcome = t.run("install", name, "-p", package, *more, code=1)
            check(hidden not in outcome.err + outcome.out, f"the value is shown:\n{outcome}")
