"""The past of a live flight: a recording in a temporary directory, so that memory stays flat over a long flight."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from cluster.events import Event
from cluster.view import ClusterView
from recordings.bounded_files import RecordingError

if TYPE_CHECKING:
    from recordings.flights.runner import Plan
    from recordings.journal.writer import Recorder


class KeptPast:
    """A sink of events. When the disk refuses, the flight goes on without a past, and `failure` says why."""

    def __init__(self) -> None:
        self.failure = ""
        self._directory: TemporaryDirectory[str] | None = None
        self._recorder: Recorder | None = None

    def begin(self, plan: "Plan", view: ClusterView) -> None:
        """Keep a flight from its beginning; `view` must be folded before the sink gets an event."""
        from recordings.journal.writer import Recorder, new_header  # noqa: PLC0415 - after the first screen

        try:
            self._directory = TemporaryDirectory(prefix="flightdeck-past-", ignore_cleanup_errors=True)
            path = Path(self._directory.name)
            recorder = Recorder(path, new_header(plan.scenario, plan.text, plan.settings))
        except (OSError, RecordingError) as error:
            self._fail(error)
            return
        recorder.watch(view)
        self._recorder = recorder

    def __call__(self, event: Event) -> None:
        """Keep one event."""
        if self._recorder is not None:
            try:
                self._recorder(event)
            except RecordingError as error:
                self._fail(error)

    def written(self) -> tuple[Path, int] | None:
        """The recording and the number of its events; None without one."""
        recorder = self._recorder
        if recorder is None:
            return None
        try:
            return recorder.path, recorder.events
        except RecordingError as error:
            self._fail(error)
            return None

    def close(self) -> None:
        """Remove the recording."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            try:
                recorder.cut_off(turns=-1, virtual_us=-1)
            except RecordingError as error:
                self.failure = str(error)
        if self._directory is not None:
            self._directory.cleanup()

    def _fail(self, error: Exception) -> None:
        self._recorder = None
        self.failure = f"the flight's past cannot be kept: {error}"
