"""The state machines of clients: which transitions their tables list, and that all others raise."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from cluster.clients.consumer.rejoin import Rejoin
from cluster.clients.consumer.rejoin_states import IN_FLIGHT, REJOIN_STATES, TO_STEP, RejoinEvent, RejoinState
from cluster.clients.producer.producer import Producer
from cluster.clients.producer.transaction_manager import TransactionManager
from cluster.protocol.client_states import (
    MEMBER_STATES,
    PRODUCER_STATES,
    PRODUCER_TRANSACTION_STATES,
    MemberState,
    ProducerState,
    ProducerTransactionState,
)
from cluster.protocol.state_machine import IllegalTransition, StateTable

_T = ProducerTransactionState

KAFKAS_SOURCES = {  # TransactionManager.State.isTransitionValid: state → the states that it may follow
    _T.UNINITIALIZED: {_T.READY, _T.ABORTABLE_ERROR},
    _T.INITIALIZING: {_T.UNINITIALIZED, _T.COMMITTING_TRANSACTION, _T.ABORTING_TRANSACTION},
    _T.READY: {_T.INITIALIZING, _T.COMMITTING_TRANSACTION, _T.ABORTING_TRANSACTION},
    _T.IN_TRANSACTION: {_T.READY},
    _T.COMMITTING_TRANSACTION: {_T.IN_TRANSACTION},
    _T.ABORTING_TRANSACTION: {_T.IN_TRANSACTION, _T.ABORTABLE_ERROR},
    _T.ABORTABLE_ERROR: {_T.IN_TRANSACTION, _T.COMMITTING_TRANSACTION, _T.ABORTABLE_ERROR, _T.INITIALIZING},
    _T.FATAL_ERROR: set(_T),
}

LEGAL: dict[str, set[tuple[str, str]]] = {
    "member": {
        ("Left", "Joining"),
        ("Dead", "Joining"),
        ("Joining", "Joining"),
        ("Syncing", "Joining"),
        ("Stable", "Joining"),
        ("Revoking", "Joining"),
        ("Joining", "Syncing"),
        ("Joining", "Assigned"),
        ("Assigned", "Left"),
        ("Assigned", "Dead"),
        ("Syncing", "Stable"),
        ("Revoking", "Stable"),
        ("Revoking", "Fenced"),
        ("Revoking", "Left"),
        ("Revoking", "Dead"),
        ("Stable", "Revoking"),
        ("Joining", "Fenced"),
        ("Syncing", "Fenced"),
        ("Stable", "Fenced"),
        ("Joining", "Left"),
        ("Syncing", "Left"),
        ("Stable", "Left"),
        ("Fenced", "Left"),
        ("Joining", "Dead"),
        ("Syncing", "Dead"),
        ("Stable", "Dead"),
        ("Fenced", "Dead"),
        ("Left", "Dead"),
    },
    "producer": {
        ("Stopped", "Running"),
        ("Dead", "Running"),
        ("Paused", "Running"),
        ("Running", "Paused"),
        ("Fenced", "Paused"),
        ("Running", "Fenced"),
        ("Running", "Stopped"),
        ("Fenced", "Stopped"),
        ("Running", "Dead"),
        ("Paused", "Dead"),
        ("Fenced", "Dead"),
    },
}

WAITING = {RejoinState.COMMITTING, RejoinState.PREPARE_BACKOFF, RejoinState.JOIN_BACKOFF}


def _pairs(table: StateTable[Any, Any], states: type[StrEnum]) -> set[tuple[str, str]]:
    legal = set()
    for state in states:
        for to in states:
            if table.allows(state, to):
                assert table.next_state(state, to) is to
                legal.add((state.value, to.value))
            else:
                with pytest.raises(IllegalTransition, match=f"no transition from {state.value} by '{to.value}'"):
                    table.next_state(state, to)
    return legal


@pytest.mark.parametrize(("table", "states"), [(MEMBER_STATES, MemberState), (PRODUCER_STATES, ProducerState)])
def test_every_pair_is_legal_or_raises(table: StateTable[Any, Any], states: type[StrEnum]) -> None:
    assert _pairs(table, states) == LEGAL[table.machine]


def test_the_transactional_producer_has_kafkas_transitions() -> None:
    kafkas = {(source.value, to.value) for to, sources in KAFKAS_SOURCES.items() for source in sources}
    assert _pairs(PRODUCER_TRANSACTION_STATES, ProducerTransactionState) == kafkas


@pytest.mark.parametrize("to", ProducerTransactionState)
@pytest.mark.parametrize("state", ProducerTransactionState)
def test_a_transactional_producer_changes_its_state_by_the_table(
    state: ProducerTransactionState, to: ProducerTransactionState
) -> None:
    manager = TransactionManager.__new__(TransactionManager)
    manager.state = state
    if PRODUCER_TRANSACTION_STATES.allows(state, to):
        manager.move(to)
        assert manager.state is to
    else:
        with pytest.raises(IllegalTransition):
            manager.move(to)
        assert manager.state is state


def test_a_producer_that_is_stopped_cannot_be_paused() -> None:
    producer: Any = Producer.__new__(Producer)
    producer.state, producer.emit = ProducerState.STOPPED, None  # emitting would raise: nothing is to be emitted
    with pytest.raises(IllegalTransition):
        producer._change_state(ProducerState.PAUSED, "paused")
    assert producer.state is ProducerState.STOPPED


@pytest.mark.parametrize("event", RejoinEvent)
@pytest.mark.parametrize("state", RejoinState)
def test_every_event_of_a_rejoin_changes_the_state_by_the_table_or_raises(
    state: RejoinState, event: RejoinEvent
) -> None:
    rejoin = Rejoin.__new__(Rejoin)
    rejoin.state = state
    if REJOIN_STATES.allows(state, event):
        rejoin._change_state(event)
        assert rejoin.state is REJOIN_STATES.next_state(state, event)
    else:
        with pytest.raises(IllegalTransition, match=state.value):
            rejoin._change_state(event)
        assert rejoin.state is state


def test_every_event_of_a_rejoin_is_in_its_table() -> None:
    assert {event for row in REJOIN_STATES.rows.values() for event in row} == set(RejoinEvent)


@pytest.mark.parametrize("state", RejoinState)
def test_a_rejoin_may_be_requested_and_a_generation_lost_at_any_time(state: RejoinState) -> None:
    requested = REJOIN_STATES.next_state(state, RejoinEvent.REQUESTED)
    assert requested is (RejoinState.NEEDED if state is RejoinState.NOT_NEEDED else state)
    lost = REJOIN_STATES.next_state(state, RejoinEvent.GENERATION_LOST)
    assert lost not in {RejoinState.NOT_NEEDED, RejoinState.PREPARED, RejoinState.JOIN_BACKOFF}
    assert (lost is RejoinState.OUTDATED) == (state in IN_FLIGHT)


def test_a_rejoin_is_stepped_awaits_a_response_waits_or_is_not_needed() -> None:
    groups = [set(TO_STEP), set(IN_FLIGHT), WAITING, {RejoinState.NOT_NEEDED}]
    assert sum(len(group) for group in groups) == len(RejoinState)
    assert set().union(*groups) == set(RejoinState)
