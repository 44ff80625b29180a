"""Coverage marks: how often each edge of each state machine was taken in some flights.

The tables themselves list the edges. A machine is counted where it consults its `StateTable`. Brokers and partitions
are read from events, by what the event catalogue says. Nothing of this is in the product: an ordinary flight pays
nothing.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from cluster import events as e
from cluster.clients.consumer.rejoin_states import REJOIN_STATES
from cluster.coordinators.consumer_group.states import CONSUMER_GROUP_STATES, MEMBER_ASSIGNMENT_STATES
from cluster.coordinators.group.states import GROUP_STATES
from cluster.protocol.broker_states import BROKER_STATES
from cluster.protocol.client_states import (
    CONSUMER_MEMBER_STATES,
    MEMBER_STATES,
    PRODUCER_STATES,
    PRODUCER_TRANSACTION_STATES,
    ConsumerMemberState,
)
from cluster.protocol.state_machine import EventT, StateT, StateTable
from cluster.protocol.transaction_states import TRANSACTION_STATES_VERSION_2

Mark = tuple[str, str]
"""A machine, and one edge of it: `Stable → PreparingRebalance`."""

BY_STATE: tuple[StateTable[Any, Any], ...] = (MEMBER_STATES, REJOIN_STATES, PRODUCER_STATES, BROKER_STATES)
"""Machines whose states are counted instead of their edges: few flights end a process in each of the states."""

ENDS = (ConsumerMemberState.LEFT, ConsumerMemberState.DEAD)
"""A process of the new protocol may end in any state: its end is counted, and not the state before."""

BROKER_ENDS = ("stop", "kill", "crash", "disk")
FENCINGS = ("session expired", "controlled shutdown")
ELECTIONS = (
    "created", "broker fenced", "controlled shutdown", "unclean", "preferred", "moved", "broker returned",
    "reassigned",
)  # fmt: skip


def _edge(one: str, other: str) -> str:
    return f"{one} → {other}"


def _mark(machine: str, state: StateT, event: EventT, to: StateT) -> Mark:
    if any(to is end for end in ENDS):  # the values of other machines are equal
        return machine, to.value
    edge = _edge(state.value, to.value)
    return machine, edge if event is to else f"{edge} ({event.value})"


def _edges_of(table: StateTable[StateT, EventT]) -> list[Mark]:
    marks = [_mark(table.machine, state, event, to) for state, row in table.rows.items() for event, to in row.items()]
    return list(dict.fromkeys(marks))


def every_mark() -> list[Mark]:
    """All edges, in the order of their tables."""
    marks: list[Mark] = []
    marks += _edges_of(GROUP_STATES)
    marks += _edges_of(TRANSACTION_STATES_VERSION_2)
    marks += _edges_of(PRODUCER_TRANSACTION_STATES)
    marks += _edges_of(CONSUMER_GROUP_STATES)
    marks += _edges_of(MEMBER_ASSIGNMENT_STATES)
    marks += _edges_of(CONSUMER_MEMBER_STATES)
    marks += [(table.machine, state.value) for table in BY_STATE for state in table.rows]
    marks += [("broker", f"ended: {how}") for how in BROKER_ENDS]
    marks += [("broker", f"fenced: {why}") for why in FENCINGS]
    marks += [("broker", what) for what in ("started again", "unfenced", "paused", "resumed")]
    marks += [("partition", f"leader: {why}") for why in ELECTIONS]
    return [*marks, ("partition", "no leader"), ("partition", "ISR shrinks"), ("partition", "ISR grows")]


class Marks:
    """Counts hits. It is a sink of events for what has no table."""

    def __init__(self) -> None:
        self.hits: Counter[Mark] = Counter()
        self._isr: dict[str, int] = {}

    def hit(self, machine: str, edge: str) -> None:
        """One more."""
        self.hits[machine, edge] += 1

    def __call__(self, event: e.Event) -> None:
        """Read what an event says of members, producers, brokers and partitions."""
        match event:
            case e.BrokerStopped(how=how):
                self.hit("broker", f"ended: {how}")
            case e.BrokerFenced(reason=reason):
                self.hit("broker", f"fenced: {reason}")
            case e.BrokerStarted(at_us=at_us) if at_us:
                self.hit("broker", "started again")
            case e.BrokerUnfenced(at_us=at_us) if at_us:
                self.hit("broker", "unfenced")
            case e.BrokerPaused():
                self.hit("broker", "paused")
            case e.BrokerResumed():
                self.hit("broker", "resumed")
            case e.LeaderElected(partition=partition, reason=reason, leader=leader, isr=isr):
                self.hit("partition", f"leader: {reason}")
                if leader < 0:
                    self.hit("partition", "no leader")
                self._isr[partition] = len(isr)
            case e.IsrChanged(partition=partition, isr=isr):
                grows = len(isr) > self._isr.get(partition, 0)
                self.hit("partition", "ISR grows" if grows else "ISR shrinks")
                self._isr[partition] = len(isr)

    def forget_flight(self) -> None:
        """The next events are another flight's."""
        self._isr.clear()

    def table(self) -> list[str]:
        """Edge by edge, with its hits."""
        return [f"{machine:<22} {edge:<90} {self.hits[machine, edge]:>9,}" for machine, edge in every_mark()]


@contextmanager
def watching_marks() -> Iterator[Marks]:
    """Count the moves of every machine while this lasts."""
    marks = Marks()
    next_state = StateTable.next_state

    def next_state_counted(table: StateTable[StateT, EventT], state: StateT, event: EventT) -> StateT:
        to = next_state(table, state, event)
        marks.hit(*((table.machine, to.value) if table in BY_STATE else _mark(table.machine, state, event, to)))
        return to

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StateTable, "next_state", next_state_counted)
        yield marks
