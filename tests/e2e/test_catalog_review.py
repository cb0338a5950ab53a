"""Review before publication: what a moderator hasn't approved is seen by its author and moderators alone."""
import json

from catalog import Catalog, Repository
from catalog_person import with_person
from harness import check, config_map, contains, equal, test


@test(waits=True)
def a_catalog_publishes_what_a_moderator_approved(t):
    catalog = Catalog(t)
    catalog.serve("--kubeconfig", t.kubeconfig, "--poll-interval", "1h", "--review", "every-version")
    person, mod = with_person(t, catalog, "ann"), catalog.account("mod", "moderator")
    ann = catalog.command("token", "create", "ann").strip()
    repository = Repository(t, "etcd")
    repository.kube("1.0.0", config_map("settings"), description="One Etcd, alone")
    repository.tag("v1.0.0")
    project = catalog.link(ann, "etcd", repository.url)

    def reviews(token, query=""):
        return [(each["version"], each["state"], each["review"], each["reason"])
                for each in catalog.json(f"/api/v1/reviews{query}", token)["items"]]

    def decide(version, token=mod, **decision):
        return catalog.ask("PUT", f"/api/v1/packages/etcd/versions/{version}/review", decision, token)[0]

    def tested(version):
        t.kube.wait(f"{version} is tested", lambda: (version, "passed", "awaited", None) in reviews(mod, "?all=true"), 90)
    tested("1.0.0")
    t.run("registry", "remove", "mistletoe")
    t.run("registry", "add", "community", "--catalog", catalog.url)
    t.run("kpm", "archive-add", "--service", "catalog", catalog.url)

    def installable():
        t.run("kpm", "update")
        return ([each["reference"] for each in t.run("search", "--refresh", "-o", "json").json["packages"]],
                [each["version"] for each in t.run("kpm", "search", "-o", "json").json["kubes"]])
    equal(installable(), ([], []))
    t.refused("generate", "etcd", "-p", "community/etcd:1.0.0", says=["no package etcd"])
    equal(catalog.version("etcd", "1.0.0"), None)
    catalog.page("/packages/etcd", status=404)
    check('href="/packages/etcd"' not in catalog.page("/search?q=alone"), "the search finds it")
    # Its author sees it, and can't publish it.
    equal(reviews(ann), [("1.0.0", "passed", "awaited", None)])
    equal(decide("1.0.0", ann, decision="publish"), 403)
    equal(decide("1.0.0", decision="publish"), 204)
    equal(installable(), (["community/etcd:1.0.0"], ["1.0.0"]))
    catalog.page("/packages/etcd")
    contains(t.run("generate", "etcd", "-p", "community/etcd:1.0.0").out, "ConfigMap")

    # The next one is rejected.
    repository.kube("1.1.0", config_map("settings"), config_map("more"), description="One Etcd, alone")
    repository.tag("v1.1.0")
    equal(catalog.call_webhook(project), 202)
    tested("1.1.0")
    equal(decide("1.1.0", decision="reject"), 400, "without a reason")
    equal(decide("1.1.0", decision="reject", reason="it runs as root"), 204)
    equal(reviews(ann), [("1.1.0", "passed", "rejected", "it runs as root")])
    equal(installable(), (["community/etcd:1.0.0"], ["1.0.0"]))
    check("1.1.0" not in catalog.page("/packages/etcd"), "others see a rejected version")
    person.sign_in("ann")
    contains(person.open("/account"), "etcd 1.1.0", "was rejected: it runs as root")
    contains(person.open("/packages/etcd/1.1.0"), "rejected this version", "it runs as root")
    audit = catalog.json("/api/v1/audit", catalog.account("root", "administrator"))["items"]
    equal([(each["who"], each["what"], each["subject"]) for each in audit if each["who"] == "mod"],
          [("mod", "reject version", "etcd 1.1.0: it runs as root"), ("mod", "approve version", "etcd 1.0.0")])
    contains(json.dumps(catalog.json("/api/v1/openapi.json")), "/api/v1/reviews")

