"""`--metrics PORT` of the console, `run` and `play`: a page for Prometheus on the loopback interface."""

# ruff: noqa: PLC0415 - a console without --metrics needs neither a server nor the parser of options

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli.errors import UsageError
from console.cli.streams import write_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from prometheus_client.core import Metric
    from textual.app import App

    from cluster.events import Event
    from console.bridge import Watch
    from console.player import Player

FRAME_SECONDS = 0.02


def check_port(port: int | None, *, web: bool = False) -> None:
    """Raise UsageError if --metrics is not a port, or there are many consoles that it could serve."""
    if port is not None and web:
        raise UsageError("--metrics serves one console: leave out --web, whose pages fly one each")
    if port is None:
        return
    from console.cli.options import LARGEST_PORT

    if not 0 <= port <= LARGEST_PORT:
        raise UsageError(f"--metrics: {port} is not a port: 0 to {LARGEST_PORT}")


@contextmanager
def served(port: int, collect: "Callable[[], Iterable[Metric]]") -> Iterator[None]:
    """Serve metrics within this section, and say where on stderr. Raises UsageError for a port in use."""
    from recordings.metrics.server import MetricsPortError, MetricsServer

    try:
        server = MetricsServer(collect, port)
    except MetricsPortError as error:
        raise UsageError(f"--metrics: {error}") from None
    with server:
        write_line(f"metrics: {server.address}", to=sys.stderr)
        yield


@contextmanager
def flight_served(
    port: int | None, log: "Callable[[Event], object] | None"
) -> "Iterator[Callable[[Event], object] | None]":
    """Serve a flight's metrics, if there is a port: the sink that `fly` is to give each event to, `log` included."""
    check_port(port)
    if port is None:
        yield log
        return
    from recordings.metrics.live import FlownMetrics

    metrics = FlownMetrics()

    def take(event: "Event") -> None:
        metrics(event)
        if log is not None:
            log(event)

    with served(port, metrics.collect):
        yield take


@contextmanager
def flights_served(port: int | None) -> "Iterator[Watch | None]":
    """Serve the metrics of the newest flight that a console flies, if there is a port: the console is to call this.

    The page stays that of the live flight while the screens show its past or, after it was left, a recording.
    """
    check_port(port)
    if port is None:
        yield None
        return
    from recordings.metrics.live import FlownMetrics
    from recordings.metrics.server import NoMetricsNow

    flights: list[FlownMetrics] = []

    def begin() -> "FlownMetrics":
        flights[:] = [FlownMetrics()]
        return flights[0]

    def collect() -> "list[Metric]":
        if not flights:
            raise NoMetricsNow("the cluster is still being built")
        return flights[0].collect()

    with served(port, collect):
        yield begin


def screen_served(port: int | None, player: "Player", app: "App[None]") -> "AbstractContextManager[None]":
    """Serve the metrics at the cursor of a playback that a console shows, if there is a port."""
    if port is None:
        return nullcontext()
    from recordings.metrics.live import PlayedMetrics
    from recordings.metrics.server import NoMetricsNow

    def ask(question: "Callable[[], list[Metric]]") -> "list[Metric]":
        try:
            return app.call_from_thread(question)
        except RuntimeError:
            raise NoMetricsNow("the console is not open") from None

    return served(port, PlayedMetrics(player.path, lambda: player.view, ask, salvage=player.salvage).collect)


def play_served(path: Path, port: int, *, salvage: bool, speed: float) -> str:
    """Play a recording once without a screen at a speed, and serve its metrics; returns what was played.

    Raises RecordingError and UsageError.
    """
    from console.presenters.formatting import clock
    from recordings.flights import interruption
    from recordings.journal.playback import Playback
    from recordings.journal.reader import Recording
    from recordings.metrics.live import PlayedMetrics

    playback, lock = Playback(Recording(path, salvage=salvage)), threading.Lock()
    playback.speed, playback.playing = speed, True
    if speed < 0:
        playback.seek_us(playback.end_us)

    def ask(question: "Callable[[], list[Metric]]") -> "list[Metric]":
        with lock:
            return question()

    with interruption.seen_to(), served(port, PlayedMetrics(path, lambda: playback.view, ask, salvage=salvage).collect):
        before = time.perf_counter()
        while playback.playing and not interruption.was_asked():
            now = time.perf_counter()
            with lock:
                playback.tick(now - before)
            before = now
            time.sleep(FRAME_SECONDS)
    return f"played to {clock(playback.at_us, 3)} of {clock(playback.end_us, 3)} at ×{abs(speed):g}"
