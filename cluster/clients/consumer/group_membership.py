"""What a consumer has in either group protocol: its membership of a group, and the thread beside its poll loop.

`Consumer` chooses one membership when its process begins. All else is the same in both protocols: the application, the
fetcher, the positions, the commits and the output.
"""

from abc import ABC, abstractmethod
from enum import StrEnum
from typing import Any

from cluster.clients.consumer.application import Application
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.coordinator_lookup import CoordinatorLookup
from cluster.clients.consumer.offset_commits import OffsetCommits
from cluster.clients.consumer.positions import Positions
from cluster.protocol.state_machine import StateTable


class BackgroundThread(ABC):
    """The thread beside the poll loop. `enabled`: it must know when a poll() has returned."""

    enabled = False

    @abstractmethod
    def reset(self) -> None:
        """Begin a new process."""

    @abstractmethod
    async def run(self) -> None:
        """Run the thread until its process ends."""

    @abstractmethod
    def wake(self) -> None:
        """Let the thread compute anew when its next action is due."""

    @abstractmethod
    def pause(self, *, paused: bool) -> None:
        """Send no heartbeats, or send them again."""


class GroupMembership(ABC):
    """The group protocol of one member, as poll() runs it.

    `states`: the table of the member's states, `left` and `dead`: those of a process that has ended. `thread`: it runs
    beside poll(). `fenced`: another process has the member's instance id, and this one keeps its partitions unread.
    """

    states: StateTable[Any, Any]
    left: StrEnum
    dead: StrEnum
    thread: BackgroundThread
    lookup: CoordinatorLookup
    positions: Positions
    commits: OffsetCommits
    fenced = False

    def __init__(self, consumer: ConsumerHost, application: Application) -> None:
        self._consumer, self._application = consumer, application

    @abstractmethod
    def reset(self) -> None:
        """Begin a new process, which is in no group."""

    @abstractmethod
    def process_started(self) -> None:
        """Take the first state of a process."""

    @abstractmethod
    def begin_polling(self) -> None:
        """React to the application's first poll()."""

    @property
    @abstractmethod
    def has_work(self) -> bool:
        """Whether poll() has anything to do for the group now."""

    @abstractmethod
    async def work(self) -> None:
        """Do the next thing that poll() has to do for the group."""

    @property
    @abstractmethod
    def watched_topics(self) -> tuple[str, ...]:
        """The topics whose metadata the member needs."""

    @property
    @abstractmethod
    def settled(self) -> bool:
        """Whether the member holds its partitions, and neither joins nor rejoins."""

    @abstractmethod
    def metadata_changed(self) -> None:
        """React to new metadata, or to a changed subscription."""

    @abstractmethod
    async def unsubscribe(self) -> None:
        """unsubscribe(): give up the partitions without a commit, and leave the group."""

    @abstractmethod
    async def close(self) -> None:
        """close(): commit, give up the partitions, leave the group, wait for the last responses."""

    @abstractmethod
    def closed(self) -> None:
        """Report the end of a process whose application has closed its consumer."""

    @abstractmethod
    def failed(self, reason: str) -> None:
        """Report the end of a process whose application did not survive what poll() threw."""

    async def commit_sync(self, timeout_us: int, *, during: str = "") -> bool:
        """commitSync: returns true when the offsets are stored, or when there are none.

        A retriable error is tried again until the timeout, with another coordinator if needed.
        """
        consumer, commits = self._consumer, self.commits
        deadline_us = consumer.timeline.now_us + timeout_us
        while not await commits.send_and_wait(during):
            if not consumer.stable or consumer.timeline.now_us >= deadline_us:
                return False
            if consumer.coordinator >= 0 and not commits.error.retriable:
                return False
            self.lookup.begin()
            await consumer.sleep(consumer.retry_backoff_us)
        return True
