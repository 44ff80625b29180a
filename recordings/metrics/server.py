"""A page of metrics on the loopback interface, for Prometheus to scrape, by `prometheus_client`'s own WSGI application.

Each request is answered on a thread of its own; `collect` says how it gets at a view that another thread changes.
"""

import errno
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import Metric
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import Collector

from recordings.bounded_files import RecordingError
from recordings.metrics.catalogue import EXPORTED
from recordings.metrics.page import family_of

HOST = "127.0.0.1"
HOST_NAMES = (HOST, "localhost")
PATH = "/metrics"
StartResponse = Callable[..., Any]


class MetricsPortError(Exception):
    """The port cannot be listened on; the text says why."""


class NoMetricsNow(Exception):  # noqa: N818 - not an error: the scrape fails, as one of a process that has ended
    """There is nothing to scrape; the text says why."""


class _Collected(Collector):
    def __init__(self, collect: Callable[[], Iterable[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterable[Metric]:
        return self._collect()

    def describe(self) -> Iterable[Metric]:
        """The families there may be: `?name[]=…` asks for some of them, as of JMX exporter."""
        return [family_of(metric) for metric in EXPORTED.values()]


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden method's
        """Print nothing: the terminal is the console's."""


class _QuietServer(ThreadingWSGIServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing about a client that has gone before its answer."""


class MetricsServer:
    """Serves `collect` on a port of 127.0.0.1 from `with` on, 0: a free one. Raises MetricsPortError.

    `collect` runs on the thread of the request; NoMetricsNow and RecordingError become an answer with status 503.
    """

    def __init__(self, collect: Callable[[], Iterable[Metric]], port: int) -> None:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(collect))
        self._page = make_wsgi_app(registry)
        try:
            self._server = make_server(HOST, port, self._answer, _QuietServer, _Quiet)
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise MetricsPortError(
                f"port {port} of {HOST} {reason}: choose another one, or --metrics 0 for a free one"
            ) from None
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="metrics", daemon=True)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.port}{PATH}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start_response: StartResponse) -> Sequence[bytes]:
        host = environ.get("HTTP_HOST", HOST).rpartition(":")[0] or environ.get("HTTP_HOST", HOST)
        if host not in HOST_NAMES:  # a page of another site whose name leads here
            return _refused(start_response, "403 Forbidden", f"this page is for {HOST}")
        if environ["PATH_INFO"] != PATH:
            return _refused(start_response, "404 Not Found", f"the metrics are at {PATH}")
        try:
            answer: Sequence[bytes] = self._page(environ, start_response)
        except (NoMetricsNow, RecordingError) as reason:
            return _refused(start_response, "503 Service Unavailable", str(reason))
        return answer


def _refused(start_response: StartResponse, status: str, why: str) -> Sequence[bytes]:
    start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
    return [f"{why}\n".encode()]
