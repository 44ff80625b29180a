"""A real Prometheus on the loopback interface, with the configuration of `examples/prometheus`."""

import contextlib
import json
import queue
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.metrics_page import ROOT

PROMETHEUS, PROMTOOL = shutil.which("prometheus"), shutil.which("promtool")
EXAMPLES = ROOT / "examples" / "prometheus"
SPEED = 10  # of playbacks; Prometheus needs 5 s to know its targets
PATIENCE_SECONDS = 100.0
WITH_PROMETHEUS = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("prometheus"),
    pytest.mark.skipif(
        None in {PROMETHEUS, PROMTOOL}, reason="no Prometheus on this machine: apt-get install prometheus"
    ),
]
"""The marks of a test that needs it."""


def get(address: str, accept: str = "text/plain") -> str:
    """The answer to a GET."""
    request = urllib.request.Request(address, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=20) as answer:
        text: str = answer.read().decode()
        return text


def promtool(*words: object, text: str = "") -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run(
        [PROMTOOL, *map(str, words)], input=text, capture_output=True, text=True, timeout=60, check=False
    )


class Alertmanager:
    """Gets what Prometheus sends an Alertmanager."""

    def __init__(self) -> None:
        self.alerts: queue.Queue[dict[str, Any]] = queue.Queue()
        alerts = self.alerts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                for alert in json.loads(self.rfile.read(int(self.headers["Content-Length"]))):
                    alerts.put(alert)
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the overridden name
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.target = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_for(self, name: str) -> dict[str, Any]:
        while True:
            alert = self.alerts.get(timeout=PATIENCE_SECONDS)
            if alert["labels"]["alertname"] == name:
                return alert


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def faster(text: str) -> str:
    """Durations at SPEED."""
    return re.sub(r"\b(\d+)s\b", lambda match: f"{int(match[1]) * 1000 // SPEED}ms", text)


@contextlib.contextmanager
def prometheus(place: Path, target: str, alertmanager: str) -> Iterator[str]:
    """A Prometheus with the examples' configuration, at SPEED; yields the address of its API."""
    assert PROMETHEUS is not None
    (place / "alerts.yml").write_text(faster((EXAMPLES / "alerts.yml").read_text(encoding="utf-8")))
    config = yaml.safe_load(faster((EXAMPLES / "prometheus.yml").read_text(encoding="utf-8")))
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
    (place / "prometheus.yml").write_text(yaml.safe_dump(config))
    checked = promtool("check", "config", place / "prometheus.yml")
    assert checked.returncode == 0, checked.stderr
    port = free_port()
    words = [
        f"--config.file={place}/prometheus.yml",
        f"--storage.tsdb.path={place}/data",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.retention.time=10y",
    ]
    process = subprocess.Popen([PROMETHEUS, *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    drain, said = threading.Thread(target=process.stderr.read), []
    try:
        for line in process.stderr:
            said.append(line)
            if "Server is ready to receive web requests" in line:
                break
        else:
            pytest.fail("".join(said))
        drain.start()
        yield f"http://127.0.0.1:{port}/api/v1"
    finally:
        process.terminate()
        process.wait(30)
        if drain.ident is not None:
            drain.join()
        process.stderr.close()


def asked(api: str, what: str, **parameters: object) -> list[dict[str, Any]]:
    answer = json.loads(get(f"{api}/{what}?{urllib.parse.urlencode(parameters)}"))
    assert answer["status"] == "success"
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found
