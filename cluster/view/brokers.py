"""What a reader knows of a broker."""

import msgspec


class BrokerView(msgspec.Struct, gc=False):
    """A broker: its process (`up`: it serves, `paused`, `state`) and what the controller thinks of it (`fenced`).

    `state` is Kafka's `BrokerState`: `Starting`, `Running`, `PendingControlledShutdown`, `NotRunning`.
    `registered`: the controller has let in the process that runs, and not only one before it.
    """

    broker: int
    rack: str = ""
    up: bool = False
    state: str = "NotRunning"
    paused: bool = False
    fenced: bool = True
    since_us: int = 0
    registered: bool = False

    @property
    def alive(self) -> bool:
        """Whether there is a process, also one that is starting."""
        return self.state != "NotRunning"

    @property
    def starting(self) -> bool:
        """Whether its process takes no connections yet."""
        return self.state == "Starting"

    @property
    def stopping(self) -> bool:
        """Whether a controlled shutdown is under way."""
        return self.state == "PendingControlledShutdown"
