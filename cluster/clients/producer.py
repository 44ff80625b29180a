"""An idempotent producer: a process with an application that sends, an accumulator, and a sender thread.

Source: `org.apache.kafka.clients.producer.KafkaProducer`.
"""

from typing import Any

import trio

from cluster import events as e
from cluster.clients.accumulator import Accumulator
from cluster.clients.process import Process, Surroundings
from cluster.clients.sender import Sender
from cluster.clients.sending import Sending
from cluster.protocol.record_batch import RECORD_OVERHEAD_BYTES
from cluster.spec import ProducerSpec

MS = 1_000


class Producer(Process):
    """One producer instance. `config` has every producer key of Kafka."""

    def __init__(
        self, around: Surroundings, spec: ProducerSpec, name: str, number: int, config: dict[str, Any]
    ) -> None:
        super().__init__(around, name, number, config)
        self.spec, self.config, self.topics = spec, config, spec.topics
        self.state = "Stopped"
        self.accumulator = Accumulator(
            max(1, config["batch.size"]),
            config["buffer.memory"],
            int(config["linger.ms"] * MS),
            spec.size_bytes + RECORD_OVERHEAD_BYTES,
        )
        self.sending = Sending(self, spec, self.accumulator, around.seed)
        self.sender = Sender(self, config, self.accumulator)

    # --- the process ------------------------------------------------------------------------------------------------

    def launch(self, nursery: trio.Nursery) -> None:
        """Start the process."""
        self.begin()
        self.accumulator.reset(self.config["buffer.memory"])
        self.sender.restart()
        self.sending.restart()
        self.set_state("Running", "started")
        self.timeline.start(nursery, self._run, name=self.name)

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            if not self.alive:
                return
            self.scope = nursery.cancel_scope
            self.timeline.start(nursery, self.sender.run, name=f"{self.name}/sender")

    def kill(self) -> None:
        """Kill -9: what is buffered is lost with the process."""
        self._gone("Dead", "killed")

    def closed(self) -> None:
        """Everything is sent, after close(): the process ends."""
        self._gone("Stopped", "closed")

    def _gone(self, state: str, reason: str) -> None:
        self.end()
        self.sending.end()
        self.sender.end()
        self.accumulator.reset(self.config["buffer.memory"])
        self.set_state(state, reason)
        self.gone()

    def close_soon(self) -> None:
        """Ask the application to stop: what is buffered is sent, then the process ends."""
        self.sending.closing = self.sender.closing = True
        self.sender.wake()

    def freeze(self) -> None:
        """Freeze the whole process."""
        super().freeze()
        self.set_state("Paused", "paused")

    def thaw(self) -> None:
        """Go on; records whose time came meanwhile come now."""
        self.set_state("Running", "resumed")
        super().thaw()
        self.pull()
        self.sender.wake()

    def set_state(self, state: str, reason: str) -> None:
        """Tell the world where the application stands."""
        self.state = state
        self.tell(e.ProducerStateChanged(producer=self.name, state=state, reason=reason))

    # --- between the application and the sender -----------------------------------------------------------------------

    def begin_sending(self) -> None:
        """Metadata and producer id are there: the application may send."""
        self.sending.begin()
        self.pull()

    def pull(self) -> None:
        """Bring what has come by now into the accumulator."""
        self.sending.pull()

    def look_ahead(self, now_us: int) -> None:
        """Batches were drained: the next record opens one."""
        self.sending.look_ahead(now_us)

    def memory_is_free(self) -> None:
        """A batch gave its memory back."""
        self.sending.memory_is_free()

    def batch_ready(self, at_us: int) -> None:
        """A batch may be sent from this instant on."""
        if at_us <= self.timeline.now_us:
            self.sender.wake()
        else:
            self.sender.look_at(at_us)
