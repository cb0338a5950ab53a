"""A release whose own conversion webhook is down isn't locked in."""
import base64
import json
import threading
import time

from harness import certificate, check, config_map, contains, definition, equal, test
from quiet_server import QuietHandler, QuietServer


def converting(t, group, strategy):
    """Two versions; with "Webhook", the second one is stored, and a Service converts that nobody answers for."""
    crd = definition(group, "pairs", "Pair")
    crd["spec"]["versions"].append(json.loads(json.dumps(crd["spec"]["versions"][0])) | {"name": "v2"})
    for version in crd["spec"]["versions"]:
        version["storage"] = version["name"] == ("v2" if strategy == "Webhook" else "v1")
    crd["spec"]["conversion"] = {"strategy": strategy}
    if strategy == "Webhook":
        crd["spec"]["conversion"]["webhook"] = {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": t.ns, "name": "converter"}}}
    return crd


def pair(group, version, name, text):
    return {"apiVersion": f"{group}/{version}", "kind": "Pair", "metadata": {"name": name}, "spec": {"text": text}}


@test(waits=True)
def the_upgrade_that_repairs_a_conversion_webhook_goes_through(t):
    group = f"{t.ns}.example.com"
    crd_name = f"pairs.{group}"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd_name))

    def without_webhook():
        if t.kube.get("CustomResourceDefinition", None, crd_name):
            t.kube.patch("CustomResourceDefinition", None, crd_name,
                         {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    t.cleanup(without_webhook)

    def package(name, strategy, text):
        return t.package(name, config_map("plain", {"text": text}), converting(t, group, strategy),
                         pair(group, "v1", "one", text))

    def lock_in(text):
        """An upgrade brings the webhook. One is stored in v1, the other in v2: neither version can be listed."""
        t.run("upgrade", "shop", "-p", package("broken", "Webhook", text))
        t.kube.wait("a second one is there", lambda: t.kube.request(
            "POST", f"/apis/{group}/v2/namespaces/{t.ns}/pairs", pair(group, "v2", "two", "theirs"))[0] in (201, 409))
        t.kube.wait("nothing can be listed", lambda: all(
            t.kube.request("GET", f"/apis/{group}/{version}/namespaces/{t.ns}/pairs")[0] >= 400
            for version in ("v1", "v2")))

    t.run("install", "shop", "-p", package("working", "None", "1"))
    lock_in("1")
    equal(t.run("recover", "shop").out.count("whole"), 0, "nobody looked")
    t.run("upgrade", "shop", "-p", package("repaired", "None", "2"), "--timeout", "60s")
    one = t.kube.get(f"/apis/{group}/v1/pairs", t.ns, "one")
    equal(one["spec"]["text"], "2", "what couldn't be read")

    lock_in("2")
    refused = t.refused("uninstall", "shop", "--yes", says=["can be neither read nor deleted", f"Service {t.ns}/converter",
                                                            "--delete-crds"])
    check(t.record("shop"), refused)
    t.run("uninstall", "shop", "--yes", "--delete-crds", "--wait")
    check(t.kube.get("CustomResourceDefinition", None, crd_name) is None, "the definition and all of its objects")
    equal(t.record("shop"), [], "record")


def converter(t, ready):
    """Answers conversion reviews from when it is ready: (URL, CA bundle)."""
    class Handler(QuietHandler):
        def handle_any(self):
            request = json.loads(self.body())["request"]
            if not ready.is_set():
                self.send_response(503)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            objects = [{**item, "apiVersion": request["desiredAPIVersion"]} for item in request["objects"]]
            self.answer_json({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": {
                "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}})

    tls, bundle = certificate(t)
    server = QuietServer(Handler, tls)
    t.cleanup(server.stop)
    return f"https://127.0.0.1:{server.port}/convert", base64.b64encode(bundle).decode()


@test(full=True, waits=True)
def a_converter_that_begins_to_answer_long_after_it_was_written_is_waited_for(t):
    """Longer than a single request is tried again."""
    group, ready = f"{t.ns}.example.com", threading.Event()
    crd_name = f"pairs.{group}"
    t.cleanup(lambda: t.kube.delete("CustomResourceDefinition", None, crd_name))
    t.cleanup(ready.set)
    url, bundle = converter(t, ready)

    def package(name, strategy, text, *objects):
        crd = converting(t, group, strategy)
        if strategy == "Webhook":
            crd["spec"]["conversion"]["webhook"]["clientConfig"] = {"url": url, "caBundle": bundle}
        return t.package(name, config_map("plain", {"text": text}), crd, *objects)

    def one(text):
        return pair(group, "v1", "one", text)
    t.run("install", "shop", "-p", package("working", "None", "1", one("1")))
    t.run("upgrade", "shop", "-p", package("away", "Webhook", "1", one("1")))
    t.kube.wait("a second one is there", lambda: t.kube.request(
        "POST", f"/apis/{group}/v2/namespaces/{t.ns}/pairs", pair(group, "v2", "two", "theirs"))[0] in (201, 409))
    t.kube.wait("nothing can be listed", lambda: t.kube.request("GET", f"/apis/{group}/v1/namespaces/{t.ns}/pairs")[0] >= 400)
    for text, left in (("2", [one("2")]), ("3", [])):
        ready.clear()
        time.sleep(1)
        process = t.start("upgrade", "shop", "-p", package(f"p{text}", "Webhook", text, *left), "--timeout", "2m")
        t.kube.wait("the rest is written", lambda: t.kube.get("ConfigMap", t.ns, "plain")["data"]["text"] == text, seconds=100)
        time.sleep(25)
        ready.set()
        t.finish(process, code=0, seconds=100)
        there = t.kube.get(f"/apis/{group}/v1/pairs", t.ns, "one")
        equal(there and there["spec"]["text"], "2" if left else None)
