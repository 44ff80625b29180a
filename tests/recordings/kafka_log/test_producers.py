"""What producers write of batches whose connection ends, or that no leader takes: each batch for itself."""

# ruff: noqa: E501 - log lines stand here as they are written

import pytest

from cluster import events as e
from cluster.config import Value
from recordings.kafka_log.renderer import RENDERERS
from recordings.kafka_log.state import KafkaLogState
from tests.support.broker_flights import SECOND_US, cluster, flown

AGAIN = (
    "[Producer clientId=p-1] Got error produce response on topic-partition orders-0, retrying. Error: NETWORK_EXCEPTION."
    " Error Message: Disconnected from node 1"
)
DISCONNECTED = (
    "[Producer clientId=p-1] Received invalid metadata error in produce request on partition orders-0 due to"
    " org.apache.kafka.common.errors.NetworkException: Disconnected from node 1 Going to request metadata update now"
)
MOVED = (
    "[Producer clientId=p-1] Received invalid metadata error in produce request on partition orders-0 due to"
    " org.apache.kafka.common.errors.NotLeaderOrFollowerException: For requests intended only for the leader, this error"
    " indicates that the broker is not the current leader. For requests intended for any replica, this error indicates"
    " that the broker is not a replica of the topic partition. Going to request metadata update now"
)


def killed_with_five_in_flight(producer: dict[str, Value]) -> list[tuple[int, str]]:
    """What its producer writes of a leader that dies with all the requests that a connection may have in flight."""
    steps = [(5.0, "slow disk of broker-1 to 2s for 20s"), (6.0, "kill broker-1")]
    flight = flown(cluster(*steps, until_s=8, rate=50.0, producer=producer, reads=False), truthful=False)
    log, lines = KafkaLogState(), []
    for event in flight.all(e.Event):
        for renderer in RENDERERS.get(type(event), ()):
            lines += [(event.at_us, f"{line.context}{line.message}") for line in renderer(log, event)]
    return [(at_us, text) for at_us, text in lines if at_us >= 6 * SECOND_US and "produce re" in text]


@pytest.mark.parametrize("idempotent", [True, False])
def test_each_batch_in_flight_says_that_its_connection_is_gone(idempotent: bool) -> None:
    lines = killed_with_five_in_flight({"enable.idempotence": idempotent})
    disconnected = [text for _, text in lines if "node 1" in text]
    assert disconnected == [AGAIN, DISCONNECTED] * 5
    assert len({at_us for at_us, text in lines if "node 1" in text}) == 1


def test_a_batch_that_is_not_sent_again_says_why_metadata_is_asked_for() -> None:
    lines = killed_with_five_in_flight({"enable.idempotence": False, "retries": 0})
    assert [text for _, text in lines if "node 1" in text] == [DISCONNECTED] * 5
    assert not any("retrying" in text for _, text in lines)


@pytest.mark.parametrize(
    ("error", "broker", "said"),
    [
        ("NETWORK_EXCEPTION", 1, [DISCONNECTED]),
        ("NOT_LEADER_OR_FOLLOWER", -1, [MOVED]),
        ("REQUEST_TIMED_OUT", 1, []),
        ("NOT_ENOUGH_REPLICAS", -1, []),
        ("TimeoutException", -1, []),
    ],
)
def test_what_is_written_of_a_batch_that_is_given_up(error: str, broker: int, said: list[str]) -> None:
    failed = e.BatchFailed(
        producer="p-1", partition="orders-0", records=1, freed_bytes=1, error=error, sent=True, disconnected_from=broker
    )
    lines = [line for renderer in RENDERERS[e.BatchFailed] for line in renderer(KafkaLogState(), failed)]
    assert [f"{line.context}{line.message}" for line in lines] == said
