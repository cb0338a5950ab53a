"""Servers that stand between mistctl and the truth: a reverse proxy with a hook on each request, and liars."""
import http.client
import socket
import threading
import urllib.parse

from quiet_server import QuietHandler, QuietServer


class Refuse(Exception):
    """Raised by a hook: the request is answered with this and not passed on."""

    def __init__(self, status, headers=None, body=b""):
        super().__init__(status)
        self.status, self.headers, self.body = status, headers or {}, body


class Drop(Exception):
    """Raised by a hook: the connection is closed without an answer."""


class Proxy:
    """http://127.0.0.1:PORT in front of the cluster, as the user with `token`.

    before(number, method, path) is called before a request is passed on, after(number, method, path) when its answer
    is known and before it is sent back; number counts from 1. Both may raise Refuse or Drop, and be slow. So may watched(path), which is
    called before each piece of a watch is sent back. port_for(number, method, path) names the API server that gets a request, where
    there are several.
    """

    def __init__(self, kube, token, before=None, after=None, watched=None, port_for=None):
        self.count = 0
        self.accepted = []  # (method, path, what the client accepts) of each request
        self._lock = threading.Lock()
        nothing = lambda number, method, path: None  # noqa: E731
        before, after, watched, outer = before or nothing, after or nothing, watched or (lambda path: None), self
        port_for = port_for or (lambda number, method, path: int(kube.port))

        class Handler(QuietHandler):
            def handle_any(self):
                with outer._lock:
                    outer.count += 1
                    number = outer.count
                    outer.accepted.append((self.command, self.path, self.headers.get("Accept", "")))
                body = self.body()
                try:
                    before(number, self.command, self.path)
                    self.forward(body, number)
                except Refuse as refusal:
                    self.answer(refusal.status, list(refusal.headers.items()), refusal.body)
                except (Drop, OSError, http.client.HTTPException):
                    self.close_connection = True

            def forward(self, body, number):
                upstream = http.client.HTTPSConnection(kube.host, port_for(number, self.command, self.path),
                                                       context=kube.tls_without_identity)
                try:
                    headers = {name: value for name, value in self.headers.items()
                               if name.lower() not in ("host", "connection", "authorization", "accept-encoding")}
                    headers["Authorization"] = f"Bearer {token}"
                    upstream.request(self.command, self.path, body, headers)
                    answer = upstream.getresponse()
                    query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                    if "watch" in query and answer.status == 200:
                        self.stream(answer)
                        return
                    text = answer.read()
                    after(number, self.command, self.path)
                    self.answer(answer.status, answer.getheaders(), text)
                finally:
                    upstream.close()

            def stream(self, answer):
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type"))
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                while piece := answer.read1(65536):
                    watched(self.path)
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")

            def answer(self, status, headers, body):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = QuietServer(Handler)
        self.url = f"http://127.0.0.1:{self._server.port}"
        self.stop = self._server.stop


class Liar:
    """A TCP server that gives every connection to `talk(socket)`, then closes it."""

    def __init__(self, talk, tls=None):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._talk, self._tls, self._open = talk, tls, set()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection):
        self._open.add(connection)
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            self._talk(connection)
        except OSError:
            pass
        finally:
            connection.close()

    def stop(self):
        self._listener.close()
        for connection in list(self._open):
            connection.close()
