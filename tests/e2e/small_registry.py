"""A small OCI registry in memory that has what CNCF's lacks: the referrers API of the distribution specification 1.1. It does what
the specification says of pull, push, content discovery and deletion, and refuses what doesn't conform: wrong digests, manifests
whose blobs are missing."""
import json
import re
import threading
import urllib.parse

from quiet_server import QuietHandler, QuietServer
from registries import MANIFEST, digest

INDEX = "application/vnd.oci.image.index.v1+json"
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
NAME = re.compile(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*")
TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


class Refusal(Exception):
    def __init__(self, status, code, message):
        super().__init__(message)
        self.status, self.code = status, code


class Repository:
    def __init__(self):
        self.blobs, self.manifests, self.tags, self.uploads = {}, {}, {}, {}  # manifests: {digest: (media type, bytes)}

    def find(self, reference):
        """(digest, media type, bytes) of a tag or a digest."""
        name = self.tags.get(reference, reference)
        if name not in self.manifests:
            raise Refusal(404, "MANIFEST_UNKNOWN", "manifest unknown")
        return name, *self.manifests[name]

    def referrers(self, subject):
        """Their descriptors, as the specification makes them."""
        found = []
        for name, (media_type, content) in sorted(self.manifests.items()):
            manifest = json.loads(content)
            if manifest.get("subject", {}).get("digest") != subject:
                continue
            artifact_type = manifest.get("artifactType") or manifest.get("config", {}).get("mediaType")
            found.append({"mediaType": media_type, "digest": name, "size": len(content), "artifactType": artifact_type,
                          **({"annotations": manifest["annotations"]} if "annotations" in manifest else {})})
        return found


class SmallRegistry:
    """Ends with the test. `filters`: it applies artifactType, and says so; `page`: how many referrers or tags an answer has at
    most. `asked`: ["GET /v2/…?…", …]; `filtered`: how often a filter was applied."""

    def __init__(self, t, filters=True, page=None):
        self.repositories, self.asked, self.filtered = {}, [], 0
        self.filters, self.page = filters, page
        self.lock = threading.RLock()
        registry = self

        class Handler(QuietHandler):
            disable_nagle_algorithm = True  # an answer is two writes

            def handle_any(self):
                body = self.body() or b""
                with registry.lock:
                    registry.asked.append(f"{self.command} {self.path}")
                    try:
                        status, headers, content = registry.answer(self.command, self.path, dict(self.headers), body)
                    except Refusal as refusal:
                        status, headers = refusal.status, {"Content-Type": "application/json"}
                        content = json.dumps({"errors": [{"code": refusal.code, "message": str(refusal)}]}).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

        Handler.do_HEAD = Handler.dispatch
        self.web = QuietServer(Handler)
        t.cleanup(self.web.stop)
        self.host = f"localhost:{self.web.port}"

    def __call__(self, path):
        return f"oci://{self.host}/{path}"

    def tags(self, name):
        return sorted(self.repositories[name].tags)

    def answer(self, method, target, headers, body):
        """(status, headers, content)"""
        path, _, query = target.partition("?")
        arguments = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if path in ("/v2", "/v2/"):
            return 200, {}, b"{}"
        found = re.fullmatch(r"/v2/(.+?)/(?:(tags)/list|(manifests|blobs|referrers)/([^/]+)|(blobs)/uploads/([^/]*))", path)
        if not found or not NAME.fullmatch(found[1]):
            raise Refusal(404, "NAME_INVALID", "no such place")
        repository = self.repositories.get(found[1])
        if repository is None:
            if method not in ("POST", "PUT") and not found[6]:
                if found[3] == "referrers":
                    return self.referrers(Repository(), found[1], found[4], arguments)
                raise Refusal(404, "NAME_UNKNOWN", "repository name not known to registry")
            repository = self.repositories.setdefault(found[1], Repository())
        if found[2]:
            return self.page_of(sorted(repository.tags), arguments, lambda tags: {"name": found[1], "tags": tags},
                                f"/v2/{found[1]}/tags/list", "application/json")
        if found[5]:
            return self.upload(repository, found[1], found[6], method, arguments, body)
        if found[3] == "referrers":
            return self.referrers(repository, found[1], found[4], arguments)
        if found[3] == "blobs":
            return self.blob(repository, found[4], method)
        return self.manifest(repository, found[1], found[4], method, headers, body)

    def page_of(self, items, arguments, shown, path, media_type, more=None):
        """One answer of a list: `last` is the number of items before it."""
        begin = int(arguments.get("from_item", 0))
        size = self.page or len(items) or 1
        headers = {"Content-Type": media_type, **(more or {})}
        if begin + size < len(items):
            rest = {**arguments, "from_item": begin + size}
            headers["Link"] = f'<{path}?{urllib.parse.urlencode(rest)}>; rel="next"'
        return 200, headers, json.dumps(shown(items[begin:begin + size])).encode()

    def referrers(self, repository, name, subject, arguments):
        if not DIGEST.fullmatch(subject):
            raise Refusal(400, "DIGEST_INVALID", "not a digest")
        found, wanted, more = repository.referrers(subject), arguments.get("artifactType"), {}
        if wanted and self.filters:
            self.filtered += 1
            found, more = [each for each in found if each["artifactType"] == wanted], {"OCI-Filters-Applied": "artifactType"}
        return self.page_of(found, arguments, lambda some: {"schemaVersion": 2, "mediaType": INDEX, "manifests": some},
                            f"/v2/{name}/referrers/{subject}", INDEX, more)

    def blob(self, repository, name, method):
        if name not in repository.blobs:
            raise Refusal(404, "BLOB_UNKNOWN", "blob unknown to registry")
        if method == "DELETE":
            del repository.blobs[name]
            return 202, {}, b""
        return 200, {"Content-Type": "application/octet-stream", "Docker-Content-Digest": name}, repository.blobs[name]

    def upload(self, repository, name, session, method, arguments, body):
        if method == "POST":
            other = self.repositories.get(arguments.get("from", ""))
            if other and arguments.get("mount") in other.blobs:
                return self.keep(repository, name, arguments["mount"], other.blobs[arguments["mount"]])
            if "digest" in arguments:
                return self.keep(repository, name, arguments["digest"], body)
            session = str(len(repository.uploads))
            repository.uploads[session] = b""
            return 202, {"Location": f"/v2/{name}/blobs/uploads/{session}", "Range": "0-0"}, b""
        if repository.uploads.get(session) is None:
            raise Refusal(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
        content = repository.uploads[session] + body
        if method == "PUT":
            repository.uploads[session] = None
            return self.keep(repository, name, arguments.get("digest", ""), content)
        repository.uploads[session] = content
        return 202, {"Location": f"/v2/{name}/blobs/uploads/{session}", "Range": f"0-{max(len(content) - 1, 0)}"}, b""

    @staticmethod
    def keep(repository, name, wanted, content):
        if digest(content) != wanted:
            raise Refusal(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        repository.blobs[wanted] = content
        return 201, {"Location": f"/v2/{name}/blobs/{wanted}", "Docker-Content-Digest": wanted}, b""

    def manifest(self, repository, name, reference, method, headers, body):
        is_digest = bool(DIGEST.fullmatch(reference))
        if not is_digest and not TAG.fullmatch(reference):
            raise Refusal(400, "TAG_INVALID", "not a tag")
        if method == "DELETE":
            found = repository.find(reference)[0]
            if is_digest:
                del repository.manifests[found]
            repository.tags = {tag: to for tag, to in repository.tags.items() if tag != reference and to != reference}
            return 202, {}, b""
        if method != "PUT":
            found, media_type, content = repository.find(reference)
            return 200, {"Content-Type": media_type, "Docker-Content-Digest": found}, content
        found, manifest = digest(body), json.loads(body)
        if is_digest and found != reference:
            raise Refusal(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        parts = [manifest["config"], *manifest["layers"]] if "layers" in manifest else []
        if missing := [part["digest"] for part in parts if part["digest"] not in repository.blobs]:
            raise Refusal(404, "MANIFEST_BLOB_UNKNOWN", f"blob unknown to registry: {missing[0]}")
        if missing := [part["digest"] for part in manifest.get("manifests", []) if part["digest"] not in repository.manifests]:
            raise Refusal(404, "MANIFEST_UNKNOWN", f"manifest unknown: {missing[0]}")
        repository.manifests[found] = (headers.get("Content-Type", MANIFEST), body)
        if not is_digest:
            repository.tags[reference] = found
        subject = manifest.get("subject", {}).get("digest")
        return 201, {"Location": f"/v2/{name}/manifests/{found}", "Docker-Content-Digest": found,
                     **({"OCI-Subject": subject} if subject else {})}, b""
