"""What a scenario declares of an application: how its members process records, commit and fail."""

from typing import Literal

import msgspec

from cluster.config import Value

CommitPolicy = Literal["auto", "after-each-poll", "before-processing", "async", "transaction", "never"]


class PoisonSpec(msgspec.Struct, frozen=True):
    """A record that its reader cannot process: the key that marks it, and whether it crashes the process."""

    key: str
    crashes: bool = True


class ApplicationSpec(msgspec.Struct, frozen=True):
    """What a group's members do with the records that poll() returned.

    `per_record_us` ± `jitter` share of it for each; `commit` as in `scenario-format.md`; `writes` = a topic that gets
    one record for each input; `sink` = an outside store; `restart_after_us` = a crashed member comes back by itself.
    `producer` = Kafka's keys of the producer inside each member's process.
    """

    per_record_us: int = 0
    jitter: float = 0.0
    commit: CommitPolicy = "auto"
    writes: str | None = None
    sink: str | None = None
    poison: PoisonSpec | None = None
    restart_after_us: int | None = None
    producer: dict[str, Value] = {}

    @property
    def has_producer(self) -> bool:
        """Whether each member's process has a producer: the application writes, or commits in transactions."""
        return self.writes is not None or self.commit == "transaction"
