"""What commands may cost, counted in the API server's audit log."""
import concurrent.futures
import copy
import urllib.parse

from harness import check, config_map, equal, kubeconfig_text, test
from proxy import Proxy


def count(t, n):
    release = f"many-{n}"
    objects = [config_map(f"{release}-{i:04}", {"index": str(i)}) for i in range(n)]
    package = t.package(release, *objects)
    mark = t.mark()
    t.run("-q", "install", release, "-p", package)
    requests = t.requests(mark)
    kinds, namespaces = 1, 1
    # Of many plain objects one is asked about, once it is known that nothing judges them: three lists.
    limit = n + 13 + 2 * kinds * namespaces + (3 if n > 8 else 0)
    check(len(requests) <= limit, f"installing {n} took {len(requests)} requests, allowed are {limit}:",
          [r for r in requests if r.resource != "configmaps"])
    applied = [r for r in requests if r.writes and r.resource == "configmaps"]
    applied = [r for r in applied if "dryRun" not in r.uri]
    equal(len(applied), n, "each object is written once")
    equal(sorted({r.code for r in applied}), [201], "answers")

    mark = t.mark()
    equal(t.run("-q", "upgrade", release, "-p", package, "-o", "json").json["changed"], False)
    requests = t.requests(mark)
    equal([r for r in requests if r.writes], [], "writes of an upgrade without changes")
    check(len(requests) <= 10, "an upgrade without changes took", requests)

    package = t.package(release, *objects[:-1], config_map(f"{release}-{n - 1:04}", {"index": "changed"}))
    mark = t.mark()
    t.run("-q", "upgrade", release, "-p", package)
    requests = t.requests(mark)
    written = [r for r in requests if r.writes and not r.of_record]
    equal([(r.resource, r.name) for r in written], [("configmaps", f"{release}-{n - 1:04}")], "one object changed")
    check(len([r for r in requests if r.writes]) <= 6, "the record was written too often:", requests)

    mark = t.mark()
    t.run("-q", "status", release)
    requests = t.requests(mark)
    equal([r for r in requests if r.writes], [], "writes of status")
    check(len(requests) <= 6 + n // 500, "status took", requests)

    mark = t.mark()
    t.run("-q", "list")
    equal([r.verb for r in t.requests(mark)], ["list"], "requests of list")

    mark = t.mark()
    t.run("-q", "uninstall", release, "--yes")
    requests = t.requests(mark)
    # One more asks whether it may delete them: for each kind and namespace.
    check(len(requests) <= n + 12 + kinds * namespaces + n // 500 + (3 if n > 8 else 0), f"uninstalling {n} took {len(requests)} requests",
          [r for r in requests if r.resource != "configmaps"])
    equal(t.owned(release, ["ConfigMap"]), set(), "left behind")


@test
def requests_of_one_object(t):
    count(t, 1)


@test
def requests_of_100_objects(t):
    count(t, 100)


@test
def requests_of_1000_objects(t):
    count(t, 1000)


@test
def requests_of_kinds_and_namespaces(t):
    """The limit with two kinds in two namespaces, from an empty discovery cache."""
    other = t.namespace("b")
    objects = []
    for ns in (t.ns, other):
        for i in range(5):
            objects += [config_map(f"c{i}", namespace=ns),
                        {"apiVersion": "v1", "kind": "ServiceAccount",
                         "metadata": {"name": f"s{i}", "namespace": ns}}]
    package = t.package("p", *objects)
    mark = t.mark()
    t.run("-q", "install", "shop", "-p", package)
    requests = t.requests(mark)
    check(len(requests) <= 20 + 12 + 2 * 4 + 3 + 4, f"took {len(requests)} requests:", requests)
    mark = t.mark()
    t.run("-q", "status", "shop")
    check(len(t.requests(mark)) <= 8, "status took", t.requests(mark))
    t.run("-q", "uninstall", "shop", "--yes")
    equal(t.owned("shop", ["ConfigMap", "ServiceAccount"]) | t.owned("shop", ["ConfigMap"], other), set())


@test
def a_list_of_1000_releases(t):
    """Metadata only, in pages, however many and large they are."""
    t.run("install", "real", "-p", t.package("p", config_map("a")))
    real = t.kube.get("Secret", t.ns, "mistletoe.real")

    def copied(number):
        name, anchor = f"copy-{number:04}", copy.deepcopy(real)
        anchor["metadata"] = {"name": f"mistletoe.{name}", "annotations": real["metadata"]["annotations"],
                              "labels": {**real["metadata"]["labels"], "mistletoe.dev/release-name": name,
                                         "applyset.kubernetes.io/id": f"applyset-{name}"}}
        t.kube.create("Secret", t.ns, anchor)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(copied, range(999)))
    proxy = Proxy(t.kube, t.token)
    t.cleanup(proxy.stop)
    kubeconfig = t.file("kubeconfig-proxy", kubeconfig_text(proxy.url, {}, namespace=t.ns))
    mark = t.mark()
    listed = t.run("list", "-o", "json", kubeconfig=kubeconfig).json["releases"]
    equal((len(listed), len({r["name"] for r in listed})), (1000, 1000), "releases")
    requests = t.requests(mark)
    equal({(r.verb, r.resource, r.name) for r in requests}, {("list", "secrets", "")}, "requests")
    check(len(requests) <= 3, "pages:", requests)
    for request in requests:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.uri).query)
        check(query.get("limit") and "anchor" in query["labelSelector"][0], request)
    check(all("PartialObjectMetadataList" in accept for _, _, accept in proxy.accepted), proxy.accepted)
