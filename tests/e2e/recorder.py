"""A proxy before the API server that writes down what is read through it."""

import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def recorder(cluster):
    """Yield the proxy's address and the list of what is read: "GET PATH" and its selector."""
    context = ssl.create_default_context(cafile=cluster.ca_file)
    reads = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            parsed = urllib.parse.urlsplit(self.path)
            query = dict(urllib.parse.parse_qsl(parsed.query))
            reads.append(" ".join(filter(None, [parsed.path, query.get("fieldSelector")])))
            headers = {"Authorization": self.headers.get("Authorization", "")}
            request = urllib.request.Request(cluster.url + self.path, headers=headers)
            try:
                with urllib.request.urlopen(request, context=context) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                with error:
                    status, body = error.code, error.read()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", reads
        server.shutdown()
        thread.join()
