"""What a scenario declares of an application: how its members process records, commit and fail."""

from typing import Literal

import msgspec

from cluster.config import Value

CommitPolicy = Literal["auto", "after-each-poll", "before-processing", "async", "transaction", "never"]

OnRevoked = Literal["nothing", "commit"]
"""What the rebalance listener of an application does in onPartitionsRevoked."""


class PoisonSpec(msgspec.Struct, frozen=True):
    """A record that its reader cannot process: the key that marks it, and whether it crashes the process."""

    key: str
    crashes: bool = True


class OutputSpec(msgspec.Struct, frozen=True):
    """A topic that an application writes to: `records` for each input, of a `share` (0 … 1) of its inputs."""

    topic: str
    share: float = 1.0
    records: int = 1


class FailSpec(msgspec.Struct, frozen=True):
    """A share (0 … 1) of the inputs that fails: at `times` attempts, or at every one; then the process may crash."""

    share: float
    times: int | None = None
    crashes: bool = True


class RetriesSpec(msgspec.Struct, frozen=True):
    """Further attempts at a failed record: how many, and the wait before the first, multiplied before each next one."""

    times: int
    backoff_us: int = 0
    multiplier: float = 1.0


class ProcessingSpec(msgspec.Struct, frozen=True):
    """A log-normal processing time of records, by its median and its 99th percentile."""

    p50_us: int
    p99_us: int


class SlowKeysSpec(msgspec.Struct, frozen=True):
    """Keys whose records take `per_record_us`: these `keys`, or a `share` (0 … 1) of all keys."""

    per_record_us: int
    keys: tuple[str, ...] = ()
    share: float = 0.0


class ApplicationSpec(msgspec.Struct, frozen=True):
    """What a group's members do with the records that poll() returned.

    `per_record_us` ± `jitter` share of it for each; `commit` as in `scenario-format.md`; `writes` = a topic that gets
    one record for each input; `sink` = an outside store; `restart_after_us` = a crashed member comes back by itself.
    `worker_threads` process behind poll(), `queue` = records in hand at which the partitions are paused.
    `outputs` = several topics in place of `writes`; `producer` = Kafka's keys of the producer inside each member's
    process; `processing` = a distribution in place of `per_record_us`; `dead_letter` = the topic of failed records.
    `on_revoked` = what its rebalance listener does, `revoke_takes_us` = how long that takes before it commits.
    """

    per_record_us: int = 0
    jitter: float = 0.0
    commit: CommitPolicy = "auto"
    writes: str | None = None
    sink: str | None = None
    poison: PoisonSpec | None = None
    restart_after_us: int | None = None
    producer: dict[str, Value] = {}
    outputs: tuple[OutputSpec, ...] = ()
    processing: ProcessingSpec | None = None
    slow_keys: SlowKeysSpec | None = None
    worker_threads: int = 0
    queue: int = 1_000
    fail: FailSpec | None = None
    retries: RetriesSpec | None = None
    dead_letter: str | None = None
    on_revoked: OnRevoked = "nothing"
    revoke_takes_us: int = 0

    @property
    def listens(self) -> bool:
        """Whether the application has a rebalance listener that does something."""
        return self.on_revoked != "nothing" or self.revoke_takes_us > 0

    @property
    def has_producer(self) -> bool:
        """Whether each member's process has a producer: the application writes, or commits in transactions."""
        return bool(self.topics_written) or self.commit == "transaction"

    @property
    def written(self) -> tuple[OutputSpec, ...]:
        """Every output: `outputs`, or the one that `writes` names."""
        return self.outputs if self.writes is None else (OutputSpec(self.writes),)

    @property
    def topics_written(self) -> tuple[str, ...]:
        """The topics that the application may write to."""
        letters = () if self.dead_letter is None else (self.dead_letter,)
        return (*(output.topic for output in self.written), *letters)

    @property
    def crashes(self) -> bool:
        """Whether a record that fails for good ends the process."""
        poisoned = self.poison is not None and self.poison.crashes
        return self.dead_letter is None and (poisoned or (self.fail is not None and self.fail.crashes))

    @property
    def skips(self) -> bool:
        """Whether a record that fails for good is skipped: the process goes on with the next one."""
        failing = [one.crashes for one in (self.poison, self.fail) if one is not None]
        return self.dead_letter is None and not all(failing)
