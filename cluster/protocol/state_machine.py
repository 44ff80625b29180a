"""One form for every state machine of the product: a table of states, events and next states.

Theory of operation. A machine is three things in one file: a `StrEnum` of its states, whose values are the names that
Kafka prints and that events carry; a `StateTable`, which holds every legal transition; and, where several causes lead
to the same state, a `StrEnum` of events. A machine whose callers name the next state directly has no events of its
own: there the event *is* the next state (`by_next_state`). The owner keeps its current state in an attribute and
changes it only with what `next_state` returns.

    state → {event → next state}        GROUP_STATES.next_state(_S.EMPTY, _E.REBALANCE_NEEDED) is _S.PREPARING_REBALANCE
    state → {next state → next state}   TRANSACTION_STATES.next_state(_S.EMPTY, _S.ONGOING) is _S.ONGOING

A table is checked when it is made, so at import: each state has a row, each next state is a state of the machine, and
each state can be reached from the initial one. A lookup is two dictionary accesses. The order of rows and events is
the order in which documentation and screens list them. Model: h11's `_state.py`.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Generic, TypeVar

StateT = TypeVar("StateT", bound=StrEnum)
EventT = TypeVar("EventT", bound=StrEnum)


class IllegalTransition(Exception):  # noqa: N818  named for the transition, like h11's LocalProtocolError for its cause
    """A bug in the simulator: a machine got an event that its table does not list for the current state."""

    def __init__(self, machine: str, state: StrEnum, event: StrEnum) -> None:
        super().__init__(f"{machine}: no transition from {state.value} by {event.value!r}")
        self.machine, self.state, self.event = machine, state, event


class StateTable(Generic[StateT, EventT]):
    """Every legal transition of one machine: state → {event → next state}.

    `machine` names the machine in errors and statistics. Raises ValueError for a table that is incomplete.
    """

    __slots__ = ("initial", "machine", "rows")

    def __init__(self, machine: str, initial: StateT, rows: Mapping[StateT, Mapping[EventT, StateT]]) -> None:
        self.machine, self.initial = machine, initial
        self.rows: dict[StateT, dict[EventT, StateT]] = {state: dict(row) for state, row in rows.items()}
        self._check(type(initial))

    def next_state(self, state: StateT, event: EventT) -> StateT:
        """The state that `event` leads to. Raises IllegalTransition if the row of `state` does not list the event."""
        try:
            return self.rows[state][event]
        except KeyError:
            raise IllegalTransition(self.machine, state, event) from None

    def allows(self, state: StateT, event: EventT) -> bool:
        """Whether the row of `state` lists `event`."""
        return event in self.rows[state]

    def successors(self, state: StateT) -> tuple[StateT, ...]:
        """The states that may follow `state`, each once, in the order of the row."""
        return tuple(dict.fromkeys(self.rows[state].values()))

    def predecessors(self, state: StateT) -> tuple[StateT, ...]:
        """The states that `state` may follow, in the order of the table (Kafka's "valid previous states")."""
        return tuple(source for source, row in self.rows.items() if state in row.values())

    def _check(self, states: Iterable[StateT]) -> None:
        declared = tuple(states)
        missing = [state.value for state in declared if state not in self.rows]
        named = [*self.rows, *[to for row in self.rows.values() for to in row.values()]]
        foreign = [repr(state) for state in named if not any(state is known for known in declared)]
        if missing or foreign:
            raise ValueError(f"{self.machine}: states without a row: {missing}, not states of the machine: {foreign}")
        reached = {self.initial: None}
        for state in (queue := [self.initial]):
            for successor in self.successors(state):
                if successor not in reached:
                    reached[successor] = None
                    queue.append(successor)
        unreachable = [state.value for state in declared if state not in reached]
        if unreachable:
            raise ValueError(f"{self.machine}: cannot be reached from {self.initial.value}: {unreachable}")


def by_next_state(machine: str, initial: StateT, rows: Mapping[StateT, Iterable[StateT]]) -> StateTable[StateT, StateT]:
    """A table whose events are the next states themselves: state → the states that may follow it."""
    return StateTable(machine, initial, {state: {to: to for to in row} for state, row in rows.items()})
