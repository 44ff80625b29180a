"""The running cluster as the commands see it: the one host interface of this package.

`Simulation` is the implementation. It builds the command handlers, so the handlers cannot import it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import trio

from cluster.broker.broker import Broker
from cluster.broker.controller_channel import ControllerChannel
from cluster.clients.application.dependency import Dependency
from cluster.clients.consumer.consumer import Consumer
from cluster.clients.producer.producer import Producer
from cluster.commands import Command, Names
from cluster.event_pipeline import Sink
from cluster.events import Event
from cluster.network import Network
from cluster.spec import GroupSpec, ScenarioSpec, TopicSpec
from cluster.view import ClusterView
from cluster.virtual_time import Timeline

Process = Broker | Consumer | Producer


class RunningCluster(Protocol):
    """What a command may read and change. `topics`: each topic's number of partitions.

    `dependencies`: what each group's applications call for a record.
    """

    spec: ScenarioSpec
    seed: int
    timeline: Timeline
    network: Network
    nursery: trio.Nursery
    control: ControllerChannel
    brokers: dict[int, Broker]
    consumers: dict[str, Consumer]
    producers: dict[str, Producer]
    dependencies: dict[str, Dependency]
    topics: dict[str, int]
    emit: Callable[[Event], None]

    @property
    def view(self) -> ClusterView:
        """The fold of all events so far."""

    @property
    def seq(self) -> int:
        """The number of events emitted so far."""

    @property
    def sinks(self) -> list[Sink]:
        """The functions that get every event."""

    def process(self, name: str) -> Process | None:
        """The process with this name; None if none was declared."""

    def names(self) -> Names:
        """Every name that a command may use now."""

    def give(self, command: Command, source: str) -> None:
        """Journal a command and execute it in this turn."""

    def execute(self, command: Command) -> None:
        """Execute a command in this turn, or emit why it is refused. The command is not journaled."""

    def create_topic(self, topic: TopicSpec) -> list[str]:
        """Create a topic that is declared from now on; returns its partitions. Raises CommandRefusedError."""

    def add_partitions(self, topic: str, to: int, assigned: Sequence[tuple[int, ...]] = ()) -> list[str]:
        """Give a topic `to` partitions, on `assigned` brokers; returns the new ones. Raises CommandRefusedError."""

    def number_from(self, group: str, first: int) -> None:
        """Number a group's members from `first` on, instead of 1: a Deployment replaces all of them."""

    def members_up_to(self, group: str, count: int) -> list[str]:
        """The first `count` members of a group; those that do not exist yet are declared."""

    def members_above(self, group: str, count: int) -> list[str]:
        """The members of a group besides its first `count`, the highest first."""

    def redeclare(self, group: GroupSpec) -> None:
        """Make members that are declared from now on by this spec."""
