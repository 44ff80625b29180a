"""The terminal of a console in a browser's tab."""

import os
import signal

from textual.drivers.web_driver import WebDriver


class ServedWebDriver(WebDriver):
    """Ends the console when its input ends: a server that was killed asks no console to quit."""

    def run_input_thread(self) -> None:
        """Hand on what the tab types; when the server is gone, end as by SIGTERM, which closes a recording."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            self._write = len  # type: ignore[assignment]  # what is written at the end has no reader any more
            os.kill(os.getpid(), signal.SIGTERM)
