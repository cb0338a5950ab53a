"""Records beyond what one Secret can hold."""
import base64
import random

from harness import check, config_map, equal, test


def noise(seed, size):
    """Text that doesn't get shorter by compression."""
    return base64.b64encode(random.Random(seed).randbytes(size * 3 // 4)).decode()


def large(count, version):
    return [config_map(f"big-{i}", {"noise": noise(f"{i}-{version if i == 0 else 0}", 700_000)})
            for i in range(count)]


@test
def a_record_of_megabytes(t):
    t.run("install", "shop", "-p", t.package("p", *large(3, 0)))
    record = t.record("shop")
    check(len(record) >= 4, "the record should need chunks:", record)
    equal(len(t.kube.list("ConfigMap", t.ns, "mistletoe.dev/tied-to-install-name=shop")), 3)
    rendered = t.run("inspect", "release", "shop", "-o", "json").json
    check(noise("2-0", 700_000) in str(rendered), "the record doesn't give the objects back")
    changed = t.run("upgrade", "shop", "-p", t.package("p", *large(3, 1)), "-o", "json").json
    equal({o["name"]: o["action"] for o in changed["objects"]},
          {"big-0": "update", "big-1": "unchanged", "big-2": "unchanged"}, "plan")
    equal(t.run("upgrade", "shop", "-o", "json", code=None).code, 0, "the package of the record")
    t.run("upgrade", "shop", "-p", t.package("p", *large(1, 1)))
    mark = t.mark()
    t.run("list")
    equal([r.verb for r in t.requests(mark)], ["list"], "list reads metadata only")
    t.run("uninstall", "shop", "--yes")
    equal((t.owned("shop"), t.record("shop")), (set(), []), "left behind")
