"""A recording as a file of OpenMetrics with timestamps, which `promtool tsdb create-blocks-from openmetrics` reads.

Samples are taken every `step_us` of virtual time, each after all events up to its instant: as a scrape would have read
them. The format wants all samples of a series together, so they are kept until the end: 16 bytes each.
"""

from array import array
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest

from cluster.events import Event
from cluster.view import ClusterView, fold
from recordings.bounded_files import RecordingError
from recordings.journal.misfits import taken
from recordings.journal.reader import Recording
from recordings.metrics.catalogue import EXPORTED
from recordings.metrics.counts import ProcessCounts
from recordings.metrics.kafka_exporter import Sample
from recordings.metrics.page import family_of, labels_of, samples

SECOND_US: Final = 1_000_000
DEFAULT_STEP_US: Final = 15 * SECOND_US
MOST_SAMPLES: Final = 50_000_000
END: Final = b"# EOF\n"

SeriesKey = tuple[tuple[str, str], ...]


class ExportedHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A file of OpenMetrics that was written; `from_s` and `to_s`: the Unix instants of its first and last samples."""

    recording: str
    openmetrics: str
    events: int
    instants: int
    series: int
    samples: int
    from_s: float
    to_s: float
    bytes: int
    warnings: list[str]


class History:
    """The samples of every series so far."""

    def __init__(self) -> None:
        self._families: dict[str, dict[SeriesKey, array[float]]] = {}
        self.instants = self.samples = 0

    def take(self, at_us: int, found: Iterable[Sample]) -> None:
        """Add the samples of an instant."""
        self.instants += 1
        for sample in found:
            series = self._families.setdefault(sample.name, {})
            points = series.setdefault(tuple(labels_of(sample).items()), array("d"))
            points.append(at_us)
            points.append(sample.value)
            self.samples += 1
        if self.samples > MOST_SAMPLES:
            raise RecordingError(f"more than {MOST_SAMPLES:,} samples: give a longer --step")

    @property
    def series(self) -> int:
        """How many series there are."""
        return sum(len(series) for series in self._families.values())

    def families(self, start_s: float) -> Iterable[Metric]:
        """Each family with all its samples, one after the other."""
        for name, metric in EXPORTED.items():
            if name in self._families:
                family = family_of(metric)
                for labels, points in self._families[name].items():
                    for place in range(0, len(points), 2):
                        instant = round(start_s + points[place] / SECOND_US, 3)
                        family.add_sample(name, dict(labels), points[place + 1], timestamp=instant)
                yield family


def _text(family: Metric) -> bytes:
    text: bytes = generate_latest(_OneFamily(family))  # type: ignore[no-untyped-call] # the library has no types here
    return text.removesuffix(END)


class _OneFamily:
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)


def export_openmetrics(
    path: Path,
    to: Path,
    *,
    step_us: int = DEFAULT_STEP_US,
    start: datetime | None = None,
    salvage: bool = False,
) -> ExportedHistory:
    """Write the metrics of the recording at `path` to the file `to`, and replace one that is there.

    `start`: the instant of virtual time 0; by default that at which the flight was recorded. Raises RecordingError: no
    recording, damaged (unless `salvage`), too many samples, or `to` cannot be written.
    """
    recording = Recording(path, salvage=salvage)
    if to.is_dir():
        raise RecordingError(f"cannot write metrics to {to}: it is a directory")
    start_s = (datetime.fromisoformat(recording.header.started) if start is None else start).timestamp()
    history, view = History(), ClusterView()
    end_us = _sample(recording, view, history, step_us)
    size = _write(to, history, start_s)
    return ExportedHistory(
        recording=str(path),
        openmetrics=str(to),
        events=view.seq,
        instants=history.instants,
        series=history.series,
        samples=history.samples,
        from_s=round(start_s, 3),
        to_s=round(start_s + (end_us // step_us) * step_us / SECOND_US, 3),
        bytes=size,
        warnings=list(recording.warnings),
    )


def _sample(recording: Recording, view: ClusterView, history: History, step_us: int) -> int:
    """Take the samples of a whole recording; returns its end in µs."""
    counts = ProcessCounts()
    next_us = 0

    def take(event: Event) -> None:
        fold(view, event)
        counts.take(event)

    for event in recording.events():
        while event.at_us > next_us:
            history.take(next_us, samples(view, counts))
            next_us += step_us
        if not taken(recording, event, take):
            break
    whole = recording.footer is not None and not recording.warnings
    end_us = max(view.at_us, recording.footer.virtual_us) if whole and recording.footer is not None else view.at_us
    while next_us <= end_us:
        history.take(next_us, samples(view, counts))
        next_us += step_us
    return end_us


def _write(to: Path, history: History, start_s: float) -> int:
    """Write the file; it has its name when it is whole."""
    part = to.with_name(f".{to.name}.part")
    try:
        with part.open("wb") as file:
            for family in history.families(start_s):
                file.write(_text(family))
            file.write(END)
        size = part.stat().st_size
        part.replace(to)
    except OSError as error:
        raise RecordingError(f"cannot write metrics to {to}: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
    return size
