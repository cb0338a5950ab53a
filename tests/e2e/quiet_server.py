"""An HTTP/1.1 server on a free port of 127.0.0.1: a thread for each connection, silent, and stopped at once."""
import http.server
import json
import socketserver
import threading


class QuietHandler(http.server.BaseHTTPRequestHandler):
    """All methods come to `handle_any`."""
    protocol_version = "HTTP/1.1"

    def handle_any(self):
        raise NotImplementedError

    def dispatch(self):
        self.handle_any()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = dispatch

    def log_message(self, *_):
        pass

    def body(self):
        """Of the request; None: it has none."""
        length = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(length) if length else None

    def answer_json(self, value, code=200):
        text = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class AdmissionHandler(QuietHandler):
    """A webhook that denies what `denies(request)` returns a status for."""

    def denies(self, request):
        raise NotImplementedError

    def handle_any(self):
        request = json.loads(self.body())["request"]
        status = self.denies(request)
        self.answer_json({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {
            "uid": request["uid"], "allowed": status is None, **({"status": status} if status else {})}})


class QuietServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Serves from now on, until stop(). `tls`: a context of a server."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, handler, tls=None):
        super().__init__(("127.0.0.1", 0), handler)
        if tls:  # the handshake belongs to the connection's own thread
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def handle_error(self, *_):
        pass  # a client that went away, or was killed

    def stop(self):
        self.shutdown()
        self.server_close()
