"""Records beyond what one Secret can hold."""
import base64
import concurrent.futures
import random

from harness import check, config_map, contains, equal, test


def noise(seed, size):
    """Text that doesn't get shorter by compression."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()


def large(count, version):
    return [config_map(f"big-{i}", {"noise": noise(f"{i}-{version if i == 0 else 0}", 700_000)})
            for i in range(count)]


def chunks_of(t, release, revision):
    return [name for name in t.record(release) if name.startswith(f"mistletoe.{release}.v{revision}.")]


def record_of(t, count):
    """The life of a release whose record needs `count` chunks and more."""
    t.run("install", "shop", "-p", t.package("p", *large(count, 0)))
    packed = count * 700_000 * 3 // 4
    check(len(chunks_of(t, "shop", 0)) >= packed // 819_200, "the record should need chunks:", t.record("shop"))
    equal(len(t.kube.list("ConfigMap", t.ns, "mistletoe.dev/tied-to-install-name=shop")), count)
    rendered = t.run("inspect", "release", "shop", "-o", "json").out
    check(noise(f"{count - 1}-0", 700_000) in rendered, "the record doesn't give the objects back")
    changed = t.run("upgrade", "shop", "-p", t.package("p", *large(count, 1)), "-o", "json").json
    equal({o["name"]: o["action"] for o in changed["objects"]},
          {f"big-{i}": "unchanged" if i else "update" for i in range(count)}, "plan")
    equal(t.run("upgrade", "shop", "-o", "json").json["changed"], False, "the package of the record")
    mark = t.mark()
    contains(t.run("history", "shop").out, "v0", "v1")
    equal(sorted(r.verb for r in t.requests(mark)), ["get", "list"], "history reads the anchor and metadata")
    # Back from the record alone.
    t.package("p", config_map("something-else"))
    back = t.run("rollback", "shop", "-o", "json").json
    equal((back["restores"], [o["name"] for o in back["objects"] if o["action"] != "unchanged"]), (0, ["big-0"]),
          "rollback")
    equal(t.kube.get("ConfigMap", t.ns, "big-0")["data"]["noise"], noise("0-0", 700_000), "what is restored")
    # What is not kept goes with its chunks.
    t.run("upgrade", "shop", "-p", t.package("p", *large(1, 1)), "--history-max", "2")
    equal((chunks_of(t, "shop", 0), chunks_of(t, "shop", 1)), ([], []), "chunks of what is not kept")
    check(chunks_of(t, "shop", 2), "chunks of what is kept:", t.record("shop"))
    mark = t.mark()
    t.run("list")
    equal([r.verb for r in t.requests(mark)], ["list"], "list reads metadata only")
    t.run("uninstall", "shop", "--yes")
    equal((t.owned("shop"), t.record("shop")), (set(), []), "left behind")


@test
def a_record_that_almost_fills_a_secret(t):
    """The server counts what lies in a Secret after base64 was undone, the record and what is added when it ends."""
    for packed in (250_000, 700_000, 780_000, 810_000):
        name = f"r{packed // 1000}"
        package = t.package(name, *(config_map(f"{name}-{i}", {"noise": noise(f"{name}-{i}", packed * 2 // 3)})
                                    for i in range(2)))
        t.run("install", name, "-p", package)
        equal(t.run("status", name, "-o", "json").json["status"], "deployed", name)
        check(bool(chunks_of(t, name, 0)) == (packed > 262_144), "chunks:", t.record(name))
        equal(t.run("upgrade", name, "-p", package, "-o", "json").json["changed"], False, name)
        t.run("uninstall", name, "--yes")
        equal((t.owned(name), t.record(name)), (set(), []), "left behind")


@test
def a_record_of_megabytes(t):
    record_of(t, 6)


@test(full=True)
def a_record_of_20_megabytes(t):
    record_of(t, 40)
    t.note("40 objects of 700 kB, 21 MB in the record after compression")


@test
def a_list_of_more_than_an_answer_may_have_comes_in_smaller_pages(t):
    """100 objects of 1.5 MB each as JSON, 150 MB at once: "<" is six bytes there, and one where it is stored."""
    package = t.package("p", config_map("ours"))
    t.run("install", "shop", "-p", package)
    labels = t.kube.get("ConfigMap", t.ns, "ours")["metadata"]["labels"]

    def create(number):
        t.kube.create("ConfigMap", t.ns, {"metadata": {"name": f"large-{number}", "labels": labels},
                                          "data": {"text": "<" * 250_000}})

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(100)))
    mark = t.mark()
    equal(t.run("upgrade", "shop", "-p", package, "-o", "json").json["changed"], False, "and nobody wrote ours")
    lists = [r.uri for r in t.requests(mark) if r.verb == "list" and r.resource == "configmaps"]
    limits = [int(uri.split("limit=")[1].split("&")[0]) for uri in lists]
    t.note(f"pages of {limits}")
    check(len(set(limits)) > 1 and min(limits) < limits[0], "the pages should get smaller:", lists)
