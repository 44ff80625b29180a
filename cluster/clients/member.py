"""What a consumer's threads share: identity, clocks, what it owns, and the ways in which one asks another to act.

The poll loop, the heartbeat thread, the group membership and the application each see a `Member`; `Consumer` is the
process that puts them together.
"""

from abc import abstractmethod
from typing import Any

from cluster import events as e
from cluster.clients.fetcher import Fetcher
from cluster.clients.process import Process, Surroundings
from cluster.protocol.errors import ErrorCode
from cluster.spec import GroupSpec
from cluster.timeline import Timer, Waiter

MS = 1_000


class Member(Process):
    """One member of a group, as its own process knows it. `config` has every consumer key of Kafka.

    `in_poll` while poll() runs (or an idle stretch of polls), `last_poll_us` when it last did. `attention`: something
    other than records wants the poll loop.
    """

    def __init__(self, around: Surroundings, spec: GroupSpec, name: str, number: int, config: dict[str, Any]) -> None:
        super().__init__(around, name, number, config)
        self.spec, self.group, self.config = spec, spec.name, config
        self.topics = spec.topics_of(name)
        self.instance_id: str | None = None
        self.session_timeout_us: int = config["session.timeout.ms"] * MS
        self.heartbeat_interval_us: int = config["heartbeat.interval.ms"] * MS
        self.max_poll_interval_us: int = config["max.poll.interval.ms"] * MS
        self.auto_commit = spec.application.commit == "auto" and bool(config["enable.auto.commit"])
        self.auto_commit_interval_us: int = config["auto.commit.interval.ms"] * MS
        max_wait_us = max(1, config["fetch.max.wait.ms"] * MS)
        self.fetcher = Fetcher(self, config["fetch.max.bytes"], config["max.partition.fetch.bytes"], max_wait_us)
        self.processed = 0
        self.forget_everything()

    def forget_everything(self) -> None:
        """A new process: nothing known, nothing owned."""
        self.state = "Left"
        self.coordinator, self.member_id, self.generation = -1, "", -1
        self.coordinator_since_us = 0
        self.owned: tuple[str, ...] = ()
        self.fetcher.reset()
        self.in_poll = True
        self.last_poll_us = self.timeline.now_us
        self.next_auto_commit_us = 0
        self._commit_timer: Timer | None = None
        self.attention = True
        self._stale = True
        self._waiter: Waiter | None = None

    def set_state(self, state: str, reason: str = "") -> None:
        """Tell the world where the client itself stands."""
        self.state = state
        self.tell(
            e.MemberStateChanged(
                group=self.group,
                member=self.name,
                member_id=self.member_id,
                generation=self.generation,
                state=state,
                reason=reason,
            )
        )

    # --- asking the poll loop ---------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something happened that poll() waits for."""
        waiter = self._waiter
        if waiter is not None:
            waiter.wake()

    def schedule_auto_commit(self) -> None:
        """The next auto commit is one interval from now, at the first poll() after it; an idle poll() wakes for it."""
        self.next_auto_commit_us = self.timeline.now_us + self.auto_commit_interval_us
        if self._commit_timer is not None:
            self._commit_timer.cancel()
        if self.auto_commit:
            self._commit_timer = self.timeline.call_at(self.next_auto_commit_us, self.wake)

    def end(self) -> None:
        """The process is gone."""
        super().end()
        if self._commit_timer is not None:
            self._commit_timer.cancel()
            self._commit_timer = None

    def want_attention(self) -> None:
        """Something other than records: the poll loop looks at all of it before it goes on."""
        self.attention = True
        self.wake()

    def metadata_is_stale(self) -> None:
        """A broker said that it does not lead, or does not answer: refresh before fetching again."""
        self._stale = True
        self.want_attention()

    def coordinator_unknown(self) -> None:
        """The coordinator does not answer, or says that it is not one: look it up again."""
        self.coordinator = -1
        self.want_attention()

    # --- asking each other ------------------------------------------------------------------------------------------

    @abstractmethod
    def position_out_of_range(self, partition: str) -> None:
        """The log does not reach the position (any more): `auto.offset.reset` decides."""

    @abstractmethod
    def heartbeats_on(self) -> None:
        """A JoinGroup succeeded: beat from now on."""

    @abstractmethod
    def heartbeats_off(self) -> None:
        """There is no member id or generation to beat for."""

    @abstractmethod
    def heartbeat_refused(self, error: ErrorCode) -> None:
        """A heartbeat was answered with an error."""

    @abstractmethod
    def leave_for_slow_poll(self) -> None:
        """max.poll.interval.ms passed without poll(): leave the group so that others get the partitions."""

    @abstractmethod
    async def commit_sync(self) -> bool:
        """CommitSync of the positions: true when they are stored."""

    @abstractmethod
    def commit_async(self) -> None:
        """CommitAsync of the positions."""
