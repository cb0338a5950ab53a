"""The image of tools/image.sh catalog. No container runtime is here, so the test unpacks the image, and runs a Pod in its file system by
chroot: as the user of the Pod, with its volumes alone writable. Needs root, as devcluster's node does, and an apt that knows Debian 12."""
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

from guides import ROOT
from harness import Skipped, check, contains, equal, test
from test_catalog import good, names
from test_catalog_jobs import SECRET, WORK, Kubelet, begin, wait_passed

USER = "65532"
# Mounts the volumes of a Pod, and turns into its process: ROOT HOME VARIABLE COMMAND... The variable is the only one that the process has.
# /var/run is a link in the image; a container runtime resolves it in the image, too.
RUN_POD = f"""set -e
root=$1 home=$2 variable=$3; shift 3
mount --bind "$root" "$root" && mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$home/secret" "$root/run/{pathlib.Path(SECRET).name}"
mount --bind "$home/work" "$root{WORK}"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mount --bind /etc/hosts "$root/etc/hosts"
exec env -i "$variable" "$(command -v chroot)" --userspec={USER}:{USER} --groups= "$root" "$@"
"""


def in_image(root, home, variable, command):
    """The command that runs `command` in the image, with the volumes in `home`."""
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", RUN_POD, "pod", root, home, variable, *command]


def make_image(t, archive):
    """From this build, as `make install` would leave it, but for what isn't needed here."""
    prefix = t.dir / "prefix"
    if not prefix.exists():
        build = pathlib.Path(t.mistctl).resolve().parent.parent
        (prefix / "bin").mkdir(parents=True)
        for program in ("mistctl", "mistletoe-catalog"):
            subprocess.run(["strip", "-o", prefix / "bin" / program, build / "bin" / program], check=True)
        engines = prefix / "share/mistletoe/engines"
        engines.mkdir(parents=True)
        for engine in ("jinja", "python"):
            shutil.copy(build / f"share/mistletoe/engines/{engine}.wasm", engines)
        shutil.copytree(build / "share/mistletoe/schemas", prefix / "share/mistletoe/schemas")
        subprocess.run([prefix / "bin/mistctl", "engines", "compile", "jinja", "python", "--installed"], check=True, capture_output=True)
    made = subprocess.run([ROOT / "tools/image.sh", "catalog", "--prefix", prefix, "--name", "mistletoe-catalog:e2e", archive],
                          capture_output=True, text=True)
    check(made.returncode == 0, made.stderr)
    equal(made.stdout.strip(), str(archive))
    return made.stderr.strip().splitlines()[-1]


def read_json(archive, digest):
    return json.load(archive.extractfile("blobs/" + digest.replace(":", "/")))


def unpack(archive, root):
    """The file system of an image, as a container runtime lays it out, and its configuration."""
    with tarfile.open(archive) as tar:
        manifest = read_json(tar, json.load(tar.extractfile("index.json"))["manifests"][0]["digest"])
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=tar.extractfile("blobs/" + layer["digest"].replace(":", "/")), mode="r:gz") as files:
                files.extractall(root, filter="tar")
        config = read_json(tar, manifest["config"]["digest"])["config"]
    # Runtimes make the places of volumes and of these files.
    for path in ("run/" + pathlib.Path(SECRET).name, WORK[1:]):
        (root / path).mkdir(exist_ok=True)
    (root / "etc/hosts").touch()
    return config


class ImageKubelet(Kubelet):
    """Runs Pods in the image's file system."""

    root = variable = None

    def begin(self, home, command, log):
        (home / "work").mkdir()
        for path in (home / "secret", *(home / "secret").iterdir(), home / "work"):
            os.chown(path, int(USER), int(USER))
        return subprocess.Popen(in_image(self.root, home, self.variable, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)


@test(full=True, waits=True)
def the_catalogs_image_tests_a_package_in_a_pod(t):
    if os.geteuid() != 0:
        raise Skipped("chroot needs root")
    first, second, root = t.dir / "first.tar", t.dir / "second.tar", t.dir / "image"
    t.note(make_image(t, first).split(", archive")[0])
    make_image(t, second)
    check(first.read_bytes() == second.read_bytes(), "two images of the same programs and packages differ")
    second.unlink()
    config = unpack(first, root)
    equal((config["User"], config["Entrypoint"]), (f"{USER}:{USER}", ["/usr/local/bin/mistletoe-catalog"]))
    variable, = config["Env"]
    for volume in ("secret", "work"):
        (t.dir / "volumes" / volume).mkdir(parents=True)
    for command in (["mistletoe-catalog", "--version"], ["mistctl", "version"], ["kpm", "help"], ["git", "--version"], ["bwrap", "--version"]):
        ran = subprocess.run(in_image(root, t.dir / "volumes", variable, command), capture_output=True, text=True)
        check(ran.returncode == 0 and ran.stdout, command, ran.stderr)

    kubelet_class = type("KubeletOfImage", (ImageKubelet,), {"root": root, "variable": variable})
    catalog, _, kubelet, _ = begin(t, kubelet=kubelet_class)
    catalog.link(catalog.account("ann"), "etcd", good(t).url)
    run = wait_passed(catalog, kubelet, "etcd", 1)
    equal(names(run), ["unpack", "lint", "dry run", "install", "tests", "uninstall"])
    contains([step["log"] for step in run["steps"] if step["name"] == "unpack"][0], "isolation: a Pod of a Kubernetes Job")
    equal(len(kubelet.began), 1, "Pods that ran")
