"""A real Prometheus and a real Alertmanager on this machine, and somebody who receives alerts."""

import contextlib
import json
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from tests.controlplane import Process
from tests.controlplane.footprint import free_port
from tests.e2e.laboratory import wait_for
from tests.monitoring.programs import program


class Receiver:
    """Keeps every alert that it is told of, as Alertmanager tells it."""

    def __init__(self):
        self.alerts = []
        kept = self.alerts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kept.extend(json.loads(body)["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                """Nothing: the tests' output is theirs."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    @contextlib.contextmanager
    def listening(self):
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


class Prometheus:
    """A running Prometheus."""

    def __init__(self, url):
        self.url = url

    def query(self, expression):
        """Return what an expression says now: [(labels, number)]."""
        query = urllib.parse.urlencode({"query": expression})
        data = self._ask(f"query?{query}")
        assert data["resultType"] == "vector", expression
        return [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def history(self, expression, begin, end):
        """Return what it said in each second of a time: [(labels, {second: number})].

        Args:
            expression: For Prometheus.
            begin: In whole seconds since 1970, as is `end`.
            end: The last second.
        """
        span = {"query": expression, "start": begin, "end": end, "step": 1}
        data = self._ask(f"query_range?{urllib.parse.urlencode(span)}")
        return [
            (each["metric"], {int(at): float(number) for at, number in each["values"]})
            for each in data["result"]
        ]

    def _ask(self, what):
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}", timeout=10) as answer:
            return json.loads(answer.read())["data"]


@contextlib.contextmanager
def monitoring(folder, targets, rules):
    """Run both, scraping `targets` (HOST:PORT) every second; give (Prometheus, Receiver).

    Args:
        folder: An empty one.
        targets: The addresses of the operator's replicas.
        rules: Files of rules.
    """
    ports = free_port(), free_port()
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    with Receiver().listening() as receiver:
        (folder / "prometheus.yml").write_text(_prometheus(targets, rules, ports[1]))
        (folder / "alertmanager.yml").write_text(_alertmanager(receiver.url))
        servers = [
            Process(
                "prometheus",
                [
                    str(program("prometheus")),
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'prometheus'}",
                    f"--web.listen-address=127.0.0.1:{ports[0]}",
                ],
                folder / "prometheus.log",
            ),
            Process(
                "alertmanager",
                [
                    str(program("prometheus-alertmanager")),
                    f"--config.file={folder / 'alertmanager.yml'}",
                    f"--storage.path={folder / 'alertmanager'}",
                    f"--web.listen-address=127.0.0.1:{ports[1]}",
                    "--cluster.listen-address=",
                ],
                folder / "alertmanager.log",
            ),
        ]
        try:
            for server, url in zip(servers, urls, strict=True):
                server.start()
                wait_for(
                    f"{server.name} is ready",
                    lambda url=url: (
                        urllib.request.urlopen(f"{url}/-/ready", timeout=5).close() is None
                    ),
                    seen=server.tail,
                )
            yield Prometheus(urls[0]), receiver
        finally:
            for server in servers:
                server.stop()


def _prometheus(targets, rules, alertmanager):
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    return yaml.safe_dump(
        {
            "global": every,
            "rule_files": [str(each) for each in rules],
            "scrape_configs": [
                {
                    "job_name": "gpu-triage",
                    "honor_labels": True,
                    "static_configs": [{"targets": list(targets)}],
                }
            ],
            "alerting": {
                "alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]
            },
        }
    )


def _alertmanager(url):
    route = {"receiver": "people", "group_wait": "0s", "group_interval": "1s", "group_by": ["..."]}
    receivers = [{"name": "people", "webhook_configs": [{"url": url}]}]
    return yaml.safe_dump({"route": route, "receivers": receivers})
