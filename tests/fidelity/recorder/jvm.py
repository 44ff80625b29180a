"""A process with real clients: it obeys lines on stdin, tells events on stdout, and logs on stderr."""

import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

from tests.fidelity.recorder.agenda import Words
from tests.fidelity.recorder.cluster import Release

HEAP_MB = 192
PATIENCE_S = 120


class Jvm:
    """One driver; `events` grows while it runs."""

    def __init__(self, release: Release, bootstrap: str, log: Path) -> None:
        self.log, self.events = log, list[dict[str, Any]]()
        self._told = threading.Condition()
        command = release.java(HEAP_MB, "Driver", bootstrap)
        with log.open("wb") as stderr:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._told:
                self.events.append(json.loads(line))
                self._told.notify_all()

    def order(self, *words: str) -> None:
        """Send one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(("\t".join(words) + "\n").encode())
        self._process.stdin.flush()

    def ask(self, words: Words, kind: str, who: str = "") -> dict[str, Any]:
        """Send a line and wait for the event that answers it. Raises RuntimeError if none comes, or an error."""
        with self._told:
            seen = len(self.events)
            self.order(*words)

            def answers() -> list[dict[str, Any]]:
                wanted = (kind, "admin_threw")
                return [each for each in self.events[seen:] if each["kind"] in wanted and who in ("", each["who"])]

            if not self._told.wait_for(answers, timeout=PATIENCE_S) or answers()[0]["kind"] != kind:
                raise RuntimeError(f"{' '.join(words)}: {answers() or 'no answer'}; the log is {self.log}")
            return answers()[0]

    def signal(self, number: signal.Signals) -> None:
        """Kill, freeze or wake the process."""
        os.kill(self._process.pid, number)

    def end(self) -> None:
        """Kill it if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
