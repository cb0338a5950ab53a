"""Large blobs on their way to the real CNCF distribution registry, over connections that break."""
import hashlib
import json
import random
import socket
import threading
import urllib.request

from harness import check, equal, test
from registries import MANIFEST, Registry

LARGE = 40 << 20


class Relay:
    """In front of a registry: breaks the first connection by which `limit` bytes came from the client. `host`: its own."""

    def __init__(self, t, registry, limit):
        self.to, self.limit, self.broke = registry.port, limit, False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"localhost:{self.listener.getsockname()[1]}"
        t.cleanup(self.listener.close)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            broken = threading.Event()
            threading.Thread(target=self.to_registry, args=(client, server, broken), daemon=True).start()
            threading.Thread(target=self.to_client, args=(server, client, broken), daemon=True).start()

    def to_registry(self, client, server, broken):
        passed = 0
        try:
            while piece := client.recv(1 << 16):
                server.sendall(piece)
                passed += len(piece)
                if not self.broke and passed >= self.limit:
                    self.broke = True
                    broken.set()
                    break
            server.shutdown(socket.SHUT_WR)
        except OSError:
            self.end(client, server)

    # The client notices a break once the registry has: a registry that still reads has stored nothing of it.
    def to_client(self, server, client, broken):
        try:
            while piece := server.recv(1 << 16):
                if not broken.is_set():
                    client.sendall(piece)
        except OSError:
            pass
        self.end(client, server)

    @staticmethod
    def end(*sockets):
        for one in sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def layout(t):
    """An image layout with one artifact, whose layer is large; that layer's digest."""
    blobs = t.dir / "layout/blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        (blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}
    config = {"mediaType": "application/vnd.oci.image.config.v1+json", **blob(b"{}")}
    layer = {"mediaType": "application/vnd.oci.image.layer.v1.tar", **blob(random.Random(7).randbytes(LARGE))}
    manifest = blob(json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}).encode())
    (t.dir / "layout/oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (t.dir / "layout/index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{"mediaType": MANIFEST, **manifest}]}))
    return layer["digest"]


def is_there(registry, digest):
    with urllib.request.urlopen(f"http://127.0.0.1:{registry.port}/v2/big/blobs/{digest}") as answer:
        equal(hashlib.sha256(answer.read()).hexdigest(), digest.removeprefix("sha256:"))


def uploads(registry, method):
    return [line for line in registry.requests() if line.startswith(f"{method} /v2/big/blobs/uploads/")]


@test
def large_blob_is_sent_in_one_request(t):
    registry, digest = Registry(t), layout(t)
    t.run("registry", "copy", "oci-layout:layout", registry("big:1.0.0"))
    is_there(registry, digest)
    equal(len(uploads(registry, "PATCH")), 1)


@test
def large_blob_goes_on_where_its_connection_broke(t):
    registry, digest = Registry(t), layout(t)
    relay = Relay(t, registry, LARGE // 2)
    t.run("registry", "copy", "oci-layout:layout", f"oci://{relay.host}/big:1.0.0")
    check(relay.broke)
    is_there(registry, digest)
    equal(len(uploads(registry, "POST")), 2, "one for each blob: that of the layer went on")
