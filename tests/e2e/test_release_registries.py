"""Releases of registries that want credentials and signatures: the files that a Pod of the operator gets from Secrets and ConfigMaps."""
import json
import shutil
import subprocess

from guides import blocks
from harness import check, config_map, contains, equal, test
from registries import PASSWORD, Registry, basic
from test_demo import ROOT
from test_operator import Operator
from test_registries import login
from test_release_resource import address, change, make, publish, registry, remove, serve, wait_for
from test_signatures import keys, pushed


def look_again(t, mark):
    t.kube.checked("PATCH", address(t, "shop"), {"metadata": {"annotations": {"mistletoe.dev/reconcile-at": mark}}},
                   content_type="application/merge-patch+json")


@test
def an_operator_reads_credentials_registries_and_policy_again(t):
    serve(t)
    keys(t, "release")
    registry = Registry(t, auth=basic(t))
    login(t, registry.host, PASSWORD)
    for version in ("1.0.0", "1.1.0"):
        pushed(t, registry, version)
    # As the package mounts them.
    no_policy = {"apiVersion": "mistletoe.dev/v1alpha1", "kind": "TrustPolicy", "spec": {}}
    t.file("mounted/docker/config.json", "{}")
    t.file("mounted/configuration/config.yaml", json.dumps({
        "apiVersion": "mistletoe.dev/v1alpha1", "kind": "MistletoeConfig",
        "spec": {"registries": [{"name": "team", "remotes": [{"name": "default", "oci": {"url": registry("team")}}]}]}}))
    t.file("mounted/trust/trust.yaml", json.dumps(no_policy))
    shutil.copy(t.dir / "release.pub", t.dir / "mounted/trust/release.pub")
    t.env.update(DOCKER_CONFIG=str(t.dir / "mounted/docker"), MIST_CONFIG_LOCATION=str(t.dir / "mounted/configuration/config.yaml"),
                 MIST_TRUST_LOCATION=str(t.dir / "mounted/trust/trust.yaml"))
    operator = Operator(t, "--releases", "own")
    data = lambda: (t.kube.get("ConfigMap", t.ns, "a") or {}).get("data")

    make(t, "shop", package="team/shop:1.0.0")
    contains(wait_for(t, "PackageNotRead", "shop"), "needs credentials, and there are none")
    t.file("mounted/docker/config.json", (t.dir / ".docker/config.json").read_text())
    look_again(t, "credentials")
    wait_for(t, "Deployed", "shop", seconds=90)
    equal(data(), {"version": "1.0.0"})

    t.file("mounted/trust/trust.yaml", json.dumps({**no_policy, "spec": {"rules": [
        {"match": f"oci://{registry.host}/team/**", "keys": [{"name": "release", "file": "release.pub"}]}]}}))
    change(t, "shop", package="team/shop:1.1.0")
    contains(wait_for(t, "PackageNotRead", "shop"), "is not signed by release, as the trust policy requires")
    t.run("sign", registry("team/shop:1.1.0"), "--key", str(t.dir / "release.key"))
    look_again(t, "signature")
    wait_for(t, "Deployed", "shop", seconds=90)
    equal(data(), {"version": "1.1.0"})

    # A policy whose key is gone from the ConfigMap is not the absence of one.
    (t.dir / "mounted/trust/trust.yaml").unlink()
    look_again(t, "policy")
    contains(wait_for(t, "PackageNotRead", "shop", seconds=90), "trust.yaml is not there")
    check(PASSWORD not in operator.said(), "the log has the password")
    remove(t, "shop")
    equal(operator.stop(), 0, "exit code")


@test
def a_version_that_moved_while_no_operator_ran_is_refused(t):
    serve(t)
    registry(t)
    publish(t, "shop", "1.0.0", config_map("a", {"version": "right"}))
    operator = Operator(t, "--releases", "own")
    make(t, "shop", package="team/shop:1.0.0")
    wait_for(t, "Deployed", "shop")
    equal(operator.stop(), 0, "exit code")
    # The next Pod has an empty home.
    shutil.rmtree(t.dir / "home/state")
    publish(t, "shop", "1.0.0", config_map("a", {"version": "wrong"}))
    operator = Operator(t, "--releases", "own")
    contains(wait_for(t, "PackageNotRead", "shop"), "team/shop:1.0.0 isn't what it was when it was deployed", "team/shop:1.0.0@sha256:")
    equal(t.kube.get("ConfigMap", t.ns, "a")["data"], {"version": "right"})
    publish(t, "shop", "1.0.0", config_map("a", {"version": "right"}))
    look_again(t, "repaired")
    wait_for(t, "Deployed", "shop", seconds=90)
    remove(t, "shop")
    equal(operator.stop(), 0, "exit code")


@test
def signers_of_a_release_outlive_the_pods_of_the_operator(t):
    serve(t)
    keys(t, "first", "second")
    published = Registry(t)
    one = pushed(t, published, "1.0.0", "--sign", str(t.dir / "first.key"))
    two = pushed(t, published, "1.1.0", "--sign", str(t.dir / "second.key"))
    pushed(t, published, "1.2.0")
    pushed(t, published, "1.3.0", "--sign", str(t.dir / "first.key"))
    t.run("registry", "add", "team", "--oci", published("team"))
    operator = Operator(t, "--releases", "own")
    make(t, "shop", package="team/shop:1.0.0")
    wait_for(t, "Deployed", "shop")
    recorded = t.run("inspect", "release", "shop", "-o", "json").json["revisions"][-1]["package"]["signers"]
    equal(recorded, [{"package": published("team/shop"), "signers": [one["signedWith"]]}])
    for version, says in (("1.1.0", f"is signed by key {two['signedWith']}"), ("1.2.0", "is not signed")):
        # The next Pod has an empty home.
        equal(operator.stop(), 0, "exit code")
        shutil.rmtree(t.dir / "home/state", ignore_errors=True)
        operator = Operator(t, "--releases", "own")
        change(t, "shop", package=f"team/shop:{version}")
        contains(wait_for(t, "PackageNotRead", "shop"), says, f"what the release runs of it is signed by key {one['signedWith']}")
        equal(t.kube.get("ConfigMap", t.ns, "a")["data"], {"version": "1.0.0"})
    change(t, "shop", package="team/shop:1.3.0")
    wait_for(t, "Deployed", "shop", seconds=90)
    remove(t, "shop")
    equal(operator.stop(), 0, "exit code")


@test
def a_policy_says_which_packages_the_releases_of_a_namespace_name(t):
    """That of docs/release-resource.md."""
    serve(t)
    text = next(block.text for block in blocks(ROOT / "docs/release-resource.md") if "kind: ValidatingAdmissionPolicy\n" in block.text)
    path = t.file("policy.yaml", text)
    kubectl = [t.devcluster, "kubectl", "--dir", str(t.cluster_directory)]
    t.cleanup(lambda: subprocess.run([*kubectl, "delete", "-f", path, "--ignore-not-found"], check=True, capture_output=True))
    made = subprocess.run([*kubectl, "apply", "-f", path], capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    t.kube.patch("Namespace", None, t.ns, {"metadata": {"labels": {"tenant": "true"}}})

    def answer(package):
        return t.kube.request("POST", address(t) + "?dryRun=All", {
            "apiVersion": "mistletoe.dev/v1alpha1", "kind": "Release", "metadata": {"name": "web"}, "spec": {"package": package}})
    t.kube.wait("the policy is in force", lambda: answer("oci://registry.example/others/web:1.0.0")[0] == 422)
    contains(json.dumps(answer("oci://registry.example/others/web:1.0.0")[1]), f"begins with oci://registry.example/{t.ns}/")
    equal(answer(f"oci://registry.example/{t.ns}/web:1.0.0")[0], 201, "one of its own")
    equal(answer(f"git+https://git.example/{t.ns}/web")[0], 422, "another kind of address")
