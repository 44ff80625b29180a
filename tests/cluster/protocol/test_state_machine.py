"""The form of every state table: what it answers, what it refuses, and that its states stay strings everywhere."""

from __future__ import annotations

import json
import pickle
from enum import StrEnum
from typing import Any, cast

import msgspec
import pyarrow as pa
import pytest

from cluster.coordinators.group.states import GROUP_STATES, GroupEvent, GroupState
from cluster.coordinators.records import TransactionMetadata
from cluster.protocol.state_machine import IllegalTransition, StateTable, by_next_state
from cluster.protocol.transaction_states import TRANSACTION_STATES, TRANSACTION_STATES_VERSION_2, TransactionState


class Light(StrEnum):
    RED = "Red"
    GREEN = "Green"


class Lamp(StrEnum):
    """Another machine, a value of which equals one of `Light`."""

    RED = "Red"


class Switch(StrEnum):
    PRESSED = "pressed"


LIGHT = StateTable("light", Light.RED, {Light.RED: {Switch.PRESSED: Light.GREEN}, Light.GREEN: {}})


def test_a_table_answers_by_its_rows() -> None:
    assert LIGHT.next_state(Light.RED, Switch.PRESSED) is Light.GREEN
    assert (LIGHT.allows(Light.RED, Switch.PRESSED), LIGHT.allows(Light.GREEN, Switch.PRESSED)) == (True, False)
    assert (LIGHT.successors(Light.RED), LIGHT.successors(Light.GREEN)) == ((Light.GREEN,), ())
    assert (LIGHT.predecessors(Light.GREEN), LIGHT.predecessors(Light.RED)) == ((Light.RED,), ())


def test_an_event_that_is_not_in_the_row_raises() -> None:
    with pytest.raises(IllegalTransition, match="light: no transition from Green by 'pressed'") as raised:
        LIGHT.next_state(Light.GREEN, Switch.PRESSED)
    assert (raised.value.machine, raised.value.state, raised.value.event) == ("light", Light.GREEN, Switch.PRESSED)


def test_next_states_are_events_where_a_machine_has_none() -> None:
    table = by_next_state("light", Light.RED, {Light.RED: (Light.GREEN,), Light.GREEN: (Light.GREEN, Light.RED)})
    assert table.next_state(Light.GREEN, Light.RED) is Light.RED
    with pytest.raises(IllegalTransition):
        table.next_state(Light.RED, Light.RED)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ({Light.RED: (Light.RED,)}, r"without a row: \['Green'\]"),
        ({Light.RED: (), Light.GREEN: ()}, r"cannot be reached from Red: \['Green'\]"),
        ({Light.RED: (Light.GREEN,), Light.GREEN: (Lamp.RED,)}, "not states of the machine: .*Lamp.RED"),
        ({Lamp.RED: (Light.GREEN,), Light.GREEN: ()}, "not states of the machine: .*Lamp.RED"),
        ({Light.RED: (Light.GREEN,), Light.GREEN: ("Red",)}, r"not states of the machine: \[\"'Red'\"\]"),
    ],
    ids=["a state without a row", "an unreachable state", "another machine's state", "another's row", "a bare text"],
)
def test_an_incomplete_table_is_refused_when_it_is_made(rows: dict[Any, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        by_next_state("light", Light.RED, rows)


def test_every_event_of_the_group_is_in_its_table() -> None:
    assert {event for row in GROUP_STATES.rows.values() for event in row} == set(GroupEvent)


def test_version_2_keeps_every_transition_of_version_1() -> None:
    for state in TransactionState:
        assert set(TRANSACTION_STATES.successors(state)) <= set(TRANSACTION_STATES_VERSION_2.successors(state))


@pytest.mark.parametrize("state", [*GroupState, *TransactionState])
def test_a_state_is_written_as_its_text(state: StrEnum) -> None:
    text = state.value
    assert msgspec.json.encode(state) == msgspec.json.encode(text)
    assert msgspec.msgpack.encode(state) == msgspec.msgpack.encode(text)
    assert (json.dumps(state), str(state), f"{state}") == (json.dumps(text), text, text)
    assert pa.array([state], pa.string()).to_pylist() == [text]
    assert pickle.loads(pickle.dumps(state)) is state
    assert hash(state) == hash(text)


def test_a_record_comes_back_with_its_state() -> None:
    record = TransactionMetadata("pay", 7, state=TransactionState.PREPARE_ABORT)
    encoded = msgspec.json.encode(record)
    assert cast("dict[str, object]", json.loads(encoded))["state"] == "PrepareAbort"
    assert msgspec.json.decode(encoded, type=TransactionMetadata).state is TransactionState.PREPARE_ABORT
