"""close() of a producer that still waits for its producer id, and for the answer to a request."""

import pytest

from cluster import events as e
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import parse_scenario

SECOND_US = 1_000_000
TRANSACTIONAL = 'transactions = { id = "gateway" }'
WITHOUT_A_BROKER = """
title = "A producer starts while its broker is away"
until = "60s"
[cluster]
brokers = 1
[[topic]]
name = "orders"
partitions = 2
[[producer]]
name = "gateway"
topics = ["orders"]
rate = "5/s"
start = "10s"
{transactional}
[[at]]
time = "5s"
do = "{fault} broker-1"
[[at]]
time = "20s"
do = "stop gateway-1"
[[at]]
time = "50s"
do = "{repair} broker-1"
"""


def ends_of(transactional: str, fault: str, repair: str) -> list[tuple[int, str]]:
    """When the producer's process ended, in µs, and how."""
    text = WITHOUT_A_BROKER.format(transactional=transactional, fault=fault, repair=repair)
    events: list[e.Event] = []
    fly(make_plan(parse_scenario(text, "closing.toml"), until_us=60 * SECOND_US), log=events.append)
    return [
        (event.at_us, event.reason)
        for event in events
        if isinstance(event, e.ProducerStateChanged) and event.state == "Stopped"
    ]


@pytest.mark.parametrize("transactional", ["", TRANSACTIONAL], ids=["idempotent", "transactional"])
def test_close_does_not_wait_for_a_producer_id(transactional: str) -> None:
    assert ends_of(transactional, "kill", "start") == [(20 * SECOND_US, "closed")]


@pytest.mark.parametrize("transactional", ["", TRANSACTIONAL], ids=["idempotent", "transactional"])
def test_close_waits_for_the_request_in_flight(transactional: str) -> None:
    """A frozen broker answers nothing: request.timeout.ms (30 s) after the request it is no longer in flight."""
    ((at_us, reason),) = ends_of(transactional, "pause", "resume")
    assert reason == "closed"
    assert 20 * SECOND_US < at_us <= 41 * SECOND_US
