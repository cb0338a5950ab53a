"""An HTTP/1.1 server on a free port of 127.0.0.1: a thread for each connection, silent, and stopped at once."""
import http.server
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
