"""What a broker and the controller write when a broker stops, by what had been granted and what it was doing."""

import pytest

from cluster import events as e
from cluster.broker.broker_lifecycle import SHUTDOWN_TIMEOUT_US
from cluster.events import Event
from recordings.kafka_log import brokers
from tests.support.kafka_log_lines import lines_of

CONTROLLER, SERVER = "[QuorumController id=-1] ", "[BrokerServer id=2] "
BEGINS = [f"{SERVER}Transition from STARTED to SHUTTING_DOWN", f"{SERVER}shutting down"]
COMPLETED = [f"{SERVER}shut down completed", f"{SERVER}Transition from SHUTTING_DOWN to SHUTDOWN"]
IMMEDIATE = "has requested and been granted an immediate shutdown."
CONTROLLED = f"{CONTROLLER}Unfenced broker 2 has requested and been granted a controlled shutdown."

STARTS = e.BrokerStarted(broker=2, rack="", serves=False)
SERVES = e.BrokerStateChanged(broker=2, state="Running")
ASKED = e.BrokerStateChanged(broker=2, state="PendingControlledShutdown", at_us=1_000)
LEAVES = e.IsrChanged(partition="orders-0", isr=(1, 3), reason="shrink: broker-2 controlled shutdown")
LET_GO = e.BrokerFenced(broker=2, reason="controlled shutdown")
EXPIRED = e.BrokerFenced(broker=2, reason="session expired")


def stopped(how: str = "stop", *, after_us: int = 2_000_000) -> Event:
    """The process ends so long after it was asked."""
    return e.BrokerStopped(broker=2, how=how, at_us=ASKED.at_us + after_us)


def of_stop(*happens: Event) -> list[str]:
    """What they write of the stop, without what partitions make of it."""
    return [line for line in lines_of(*happens) if "broker 2" in line or line.startswith(SERVER) or "Timed" in line]


def test_a_broker_that_leads_nothing_is_granted_an_immediate_shutdown_and_no_other() -> None:
    granted = f"{CONTROLLER}Unfenced broker 2 {IMMEDIATE}"
    assert of_stop(ASKED, LET_GO, LEAVES, stopped()) == [*BEGINS, granted, *COMPLETED]


def test_a_broker_that_leads_is_granted_a_controlled_shutdown_first() -> None:
    released = (
        f"{CONTROLLER}The request from broker 2 to shut down has been granted since the lowest active offset is now"
        " greater than the broker's controlled shutdown offset."
    )
    assert of_stop(ASKED, LEAVES, LEAVES, LET_GO, stopped()) == [*BEGINS, CONTROLLED, released, *COMPLETED]


def test_a_fenced_broker_is_granted_an_immediate_shutdown() -> None:
    granted = f"{CONTROLLER}Fenced broker 2 {IMMEDIATE}"
    fencing = f"{CONTROLLER}Fencing broker 2 because its session has timed out."
    assert of_stop(EXPIRED, ASKED, stopped()) == [fencing, *BEGINS, granted, *COMPLETED]
    meanwhile = of_stop(ASKED, LEAVES, EXPIRED, stopped(after_us=30_000_000))
    assert meanwhile == [*BEGINS, CONTROLLED, fencing, granted, *COMPLETED]


def test_a_broker_that_no_controller_answers_gives_up_waiting() -> None:
    timed_out = f"{SERVER}Timed out waiting for the controller to approve controlled shutdown"
    assert of_stop(ASKED, stopped(after_us=SHUTDOWN_TIMEOUT_US)) == [*BEGINS, timed_out, *COMPLETED]
    assert brokers.SHUTDOWN_TIMEOUT_US == SHUTDOWN_TIMEOUT_US


def test_a_broker_that_is_starting_shuts_nothing_down() -> None:
    starts = f"{SERVER}Transition from SHUTDOWN to STARTING"
    assert of_stop(STARTS, stopped()) == [starts]
    again = of_stop(STARTS, stopped(), STARTS, SERVES, ASKED, LET_GO, stopped())
    assert again[:3] == [starts, starts, f"{SERVER}Transition from STARTING to STARTED"]
    assert again[-2:] == COMPLETED


def test_without_controlled_shutdown_only_the_broker_writes_of_its_stop() -> None:
    assert of_stop(stopped()) == [*BEGINS, *COMPLETED]


@pytest.mark.parametrize("how", ["kill", "crash", "disk"])
def test_a_broker_that_dies_completes_nothing(how: str) -> None:
    assert of_stop(ASKED, LEAVES, stopped(how)) == [*BEGINS, CONTROLLED]
