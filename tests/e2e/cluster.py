"""Control planes for tests."""
import os
import pathlib
import subprocess
import time

import harness
import kube


class Cluster:
    """One control plane, with the flags of `devcluster up`; it ends with this process, however that ends."""

    def __init__(self, devcluster, *flags, name="e2e"):
        self.devcluster = devcluster
        self.name = f"{name}-{os.getpid()}"
        began = time.monotonic()
        started = subprocess.run([devcluster, "up", "-q", "--name", self.name, "--parent-pid", str(os.getpid()), *flags],
                                 stdout=subprocess.PIPE, text=True, check=True)
        self.seconds = time.monotonic() - began
        self.directory = pathlib.Path(started.stdout.strip()).parent
        self.kube = kube.Kube(self.directory)
        self.audit = kube.AuditLog(self.directory / "audit.log")
        self.kube.namespace(harness.USERS)

    def left(self):
        """[(namespace that is being deleted, what it waits for), …]: many of them, tried again and again, hold up the others."""
        return [(ns["metadata"]["name"], "; ".join(each.get("message", "") for each in ns["status"].get("conditions", ())
                                                   if each["status"] == "True"))
                for ns in self.kube.list("Namespace") if "deletionTimestamp" in ns["metadata"]]

    def stop(self):
        subprocess.run([self.devcluster, "down", "--name", self.name], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False)
