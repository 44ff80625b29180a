"""A flight that stands still between two calls: its trio runs in a thread of its own, which waits for the next call.

Both threads never run at once: the caller waits for the answer, the flight for the call. So the flight is the same as
in one thread, and a test reads its view between two calls.
"""

import queue
import threading

from cluster.simulation import Simulation
from recordings.flights.interruptible_run import first_of, run_flight


class SteppedFlight:
    """The thread of one flight. `fly_to` raises what ended the flight."""

    def __init__(self, simulation: Simulation, name: str) -> None:
        self._simulation = simulation
        self._calls: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"flight {name}", daemon=True)
        self._over = False
        self._thread.start()
        self._answer()  # once the cluster is built

    def fly_to(self, at_us: int) -> None:
        """Fly to an instant, all of it included."""
        self._calls.put(at_us)
        self._answer()

    def close(self) -> None:
        """End the flight."""
        if not self._over:
            self._over = True
            self._calls.put(None)
        self._thread.join()

    def _answer(self) -> None:
        error = self._answers.get()
        if error is not None:
            self._over = True
            raise error

    def _run(self) -> None:
        try:
            run_flight(self._main, self._simulation.timeline)
        except BaseException as error:  # noqa: BLE001 - the caller's thread raises it
            self._answers.put(first_of(error))

    async def _main(self) -> None:
        async with self._simulation.running():
            while True:
                self._answers.put(None)
                at_us = self._calls.get()  # blocks trio: virtual time stands still
                if at_us is None:
                    return
                await self._simulation.timeline.fly(at_us)
