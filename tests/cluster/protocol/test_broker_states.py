from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from cluster import events as e
from cluster.broker.broker_lifecycle import BrokerLifecycle
from cluster.protocol.broker_states import BROKER_STATES, BrokerEvent, BrokerState
from cluster.protocol.state_machine import IllegalTransition

LEGAL = {  # BrokerLifecycleManager, with SHUTTING_DOWN and RECOVERY left out
    (BrokerState.NOT_RUNNING, BrokerEvent.CLUSTER_STARTED): BrokerState.RUNNING,
    (BrokerState.NOT_RUNNING, BrokerEvent.PROCESS_STARTED): BrokerState.STARTING,
    (BrokerState.STARTING, BrokerEvent.REGISTERED): BrokerState.RUNNING,
    (BrokerState.STARTING, BrokerEvent.PROCESS_ENDED): BrokerState.NOT_RUNNING,
    (BrokerState.RUNNING, BrokerEvent.REGISTERED): BrokerState.RUNNING,
    (BrokerState.RUNNING, BrokerEvent.SHUTDOWN_REQUESTED): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.RUNNING, BrokerEvent.PROCESS_ENDED): BrokerState.NOT_RUNNING,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerEvent.REGISTERED): BrokerState.PENDING_CONTROLLED_SHUTDOWN,
    (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerEvent.PROCESS_ENDED): BrokerState.NOT_RUNNING,
}
EMITTED = {"Running", "PendingControlledShutdown"}  # the others are what BrokerStarted and BrokerStopped say


def lifecycle(emitted: list[Any]) -> BrokerLifecycle:
    timeline = SimpleNamespace(now_us=0, post=lambda *_: None)
    control = SimpleNamespace(timeline=timeline, active=-1, link_from=lambda _: None)
    broker = SimpleNamespace(
        id=1, epoch=4, incarnation=1, metadata=SimpleNamespace(version=2), emit=emitted.append,
        after=lambda *_: None, on_shutdown_response=None,
    )  # fmt: skip
    return BrokerLifecycle(cast(Any, broker), cast(Any, control), heartbeat_us=2_000_000)


def send(process: BrokerLifecycle, event: BrokerEvent) -> None:
    handlers = {
        BrokerEvent.CLUSTER_STARTED: process.on_cluster_started,
        BrokerEvent.PROCESS_STARTED: process.start,
        BrokerEvent.REGISTERED: process.on_registered,
        BrokerEvent.SHUTDOWN_REQUESTED: process.stop,
        BrokerEvent.PROCESS_ENDED: process.on_process_ended,
    }
    handlers[event]()


def test_states_are_named_as_events_carry_them() -> None:
    assert [state.value for state in BrokerState] == ["NotRunning", "Starting", "Running", "PendingControlledShutdown"]


@pytest.mark.parametrize("event", BrokerEvent)
@pytest.mark.parametrize("state", BrokerState)
def test_every_pair_moves_by_the_table_or_raises(state: BrokerState, event: BrokerEvent) -> None:
    emitted: list[Any] = []
    process = lifecycle(emitted)
    process.state = state
    if (state, event) == (BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerEvent.SHUTDOWN_REQUESTED):
        send(process, event)  # a second SIGTERM changes nothing
        assert (process.state, emitted) == (state, [])
    elif (state, event) in LEGAL:
        send(process, event)
        assert process.state is LEGAL[state, event]
        changed = process.state is not state and state is not BrokerState.NOT_RUNNING
        expected = [process.state.value] if changed and process.state.value in EMITTED else []
        assert emitted == [e.BrokerStateChanged(broker=1, state=one) for one in expected]
    else:
        with pytest.raises(IllegalTransition, match=state.value):
            send(process, event)
        assert (process.state, emitted) == (state, [])


def test_the_table_holds_exactly_the_legal_transitions() -> None:
    rows = {(state, event): to for state, row in BROKER_STATES.rows.items() for event, to in row.items()}
    assert rows == LEGAL
