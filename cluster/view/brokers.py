"""The read model of a broker."""

import msgspec


class BrokerView(msgspec.Struct, gc=False):
    """A broker: its process (`up`: it serves requests; `paused`; `state`) and the controller's record (`fenced`).

    `state` is Kafka's `BrokerState`: `Starting`, `Running`, `PendingControlledShutdown`, `NotRunning`.
    `registered`: the controller has unfenced the running process, and not only an earlier one.
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
        """Whether a process runs, also a starting one."""
        return self.state != "NotRunning"

    @property
    def starting(self) -> bool:
        """Whether its process accepts no connections yet."""
        return self.state == "Starting"

    @property
    def stopping(self) -> bool:
        """Whether the broker is in a controlled shutdown."""
        return self.state == "PendingControlledShutdown"
