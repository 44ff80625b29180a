"""A producer's thread learns of requests that have timed out when something wakes it. Source: `NetworkClient.poll`."""

from cluster import events as e
from cluster.config import Value
from recordings.swarm.generator import draw
from recordings.swarm.seeds import fly_once
from tests.support.broker_flights import SECOND_US, cluster, flown

PAUSE = (6.0, "pause broker-1 for 15s")  # five batches are sent: at 6.0, 6.2 … 6.8 s


def first_broken_us(producer: dict[str, Value], **more: float) -> int:
    """When a producer gives up the connection to a frozen broker."""
    config: dict[str, Value] = {"request.timeout.ms": 2_000, **producer}
    flight = flown(cluster(PAUSE, until_s=12, rate=5.0, producer=config, reads=False))
    broken = flight.all(e.BatchRetried, error="REQUEST_TIMED_OUT")
    assert {one.disconnected_from for one in broken} == {1}
    return broken[0].at_us


def test_a_thread_that_nothing_wakes_sleeps_for_a_request_timeout_more() -> None:
    """The sixth batch is opened at 7.0 s, finds five in flight, and takes records until 10 s."""
    assert first_broken_us({}) == 9_001_000


def test_a_new_batch_wakes_it() -> None:
    """Each record is a batch: the one of 8.2 s comes next after the timeout of the first."""
    assert first_broken_us({"batch.size": 0}) == 8_200_000


def test_an_expiry_wakes_it() -> None:
    """The first batch expires at 8.6 s."""
    config: dict[str, Value] = {"request.timeout.ms": 2_000, "delivery.timeout.ms": 2_600}
    flight = flown(cluster(PAUSE, until_s=12, rate=5.0, producer=config, reads=False))
    assert flight.all(e.BatchFailed)[0].at_us == 6_000_000 + 2_600_000
    assert flight.all(e.BatchRetried, error="REQUEST_TIMED_OUT")[0].at_us <= 8_600_000


def test_a_transactional_request_and_its_answer_wake_it() -> None:
    """Seed 2029: a host crashed with a batch; offsets were sent meanwhile, and the abort waited for it 30 s more."""
    drawn = draw(2029, 60 * SECOND_US, ("pause heartbeats",))
    assert fly_once(drawn.spec).invariant == ""


def test_it_counts_whole_milliseconds() -> None:
    """A batch is opened at the very instant at which the first request has been under way for its whole timeout."""
    assert first_broken_us({"batch.size": 0, "request.timeout.ms": 1_800}) == 8 * SECOND_US


def test_the_brokers_own_timeout_is_answered_first() -> None:
    """Both end together; the thread sleeps, and the answer wakes it: its batch is refused, the others wait on."""
    config: dict[str, Value] = {"request.timeout.ms": 4_000}
    steps = [(6.1, "kill broker-2"), (6.1, "kill broker-3")]
    flight = flown(
        cluster(*steps, until_s=16, rate=5.0, producer=config, topic={"min.insync.replicas": 2}, reads=False)
    )
    retried = flight.all(e.BatchRetried)
    assert [one.error for one in retried[:2]] == ["REQUEST_TIMED_OUT"] * 2
    assert [one.disconnected_from for one in retried[:2]] == [-1, 1]
    assert 0 < retried[0].at_us - 10_200_000 < 10_000
