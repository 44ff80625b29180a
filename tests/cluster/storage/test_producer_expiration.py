"""`producer.id.expiration.ms`: a partition forgets who has not written for so long, unless its transaction is open."""

from __future__ import annotations

import pytest

from cluster.spec import ProducerSpec, ScenarioSpec, TopicSpec, TransactionsSpec
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import THREE_BROKERS, steps_at

SECOND_US = 1_000_000
EXPIRES_MS = 5_000


def flight(*steps: tuple[float, str], expiration_ms: int = EXPIRES_MS, transactional: bool = False) -> Flown:
    """A producer that writes for a second, and half a minute in which it does not."""
    transactions = TransactionsSpec("pay-{n}", 10, 0.0, "drop") if transactional else None
    return flown(
        ScenarioSpec(
            title="expiration",
            until_us=30 * SECOND_US,
            brokers=THREE_BROKERS,
            config={
                "producer.id.expiration.ms": expiration_ms,
                "producer.id.expiration.check.interval.ms": 1_000,
                "transaction.state.log.num.partitions": 1,
            },
            topics=(TopicSpec("orders", partitions=1),),
            producers=(
                ProducerSpec(
                    "pay",
                    ("orders",),
                    rate_per_second=20.0,
                    limit=400 if transactional else 20,
                    transactions=transactions,
                ),
            ),
            steps=steps_at(*steps),
        )
    )


def known(flight: Flown) -> list[int]:
    """The producer ids that the leader remembers at the end."""
    leader = next(
        replica for broker in flight.simulation.brokers.values() if (replica := broker.replicas["orders-0"]).is_leader
    )
    return list(leader.log.producers.entries)


@pytest.mark.parametrize(("expiration_ms", "remembered"), [(EXPIRES_MS, 0), (60_000, 1)])
def test_a_producer_that_writes_no_more_is_forgotten(expiration_ms: int, remembered: int) -> None:
    assert len(known(flight(expiration_ms=expiration_ms))) == remembered


@pytest.mark.parametrize(("expiration_ms", "remembered"), [(EXPIRES_MS, 0), (60_000, 1)])
def test_a_new_leader_has_forgotten_it_too(expiration_ms: int, remembered: int) -> None:
    assert len(known(flight((10.0, "kill broker-1"), expiration_ms=expiration_ms))) == remembered


def test_an_open_transaction_is_kept() -> None:
    assert len(known(flight((5.2, "abandon transaction of pay-1"), transactional=True))) == 1
