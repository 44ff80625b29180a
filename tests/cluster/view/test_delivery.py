"""What became of every record: acknowledged = delivered + lost + unread + skipped, at every moment, by identity."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from cluster import events as e
from cluster.commands import parse, text_of
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)
from cluster.view import delivery, ledger
from cluster.view.fold import HANDLERS
from cluster.view.placements import note_run
from cluster.view.state import NEVER, ClusterView, PartitionView, ReaderView
from recordings.scenarios.loader import load
from tests.support.checks_delivery import delivery_errors, law_broken
from tests.support.completed_flight import flown
from tests.support.log_events import appended, crashed, folded, taken
from tests.support.random_delivery_flights import ahead, fateful
from tests.support.slow_cases import mostly_slow

SECOND_US = 1_000_000
FLOWN = (
    "unclean-election", "offset-reset", "commit-before-processing", "at-least-once", "at-most-once", "add-partitions",
    "subscription-change", "stuck-last-stable-offset", "transaction-step-by-step", "static-twins",
)  # fmt: skip


@pytest.mark.parametrize("name", mostly_slow(FLOWN, quick=FLOWN[::5], slow=3))
def test_the_law_holds_at_every_second_of_a_library_flight(name: str) -> None:
    assert delivery_errors(load(name).spec) == []


def with_steps(spec: ScenarioSpec, *steps: tuple[float, str]) -> ScenarioSpec:
    """The same with these commands."""
    parsed = [(int(at_s * SECOND_US), parse(text)) for at_s, text in steps]
    return msgspec.structs.replace(spec, steps=tuple(StepSpec(at, one, text_of(one)) for at, one in parsed))


@pytest.mark.parametrize("seed", mostly_slow([2003, 2004, 2005, 2007, 2008, 2010, 2011], quick=[2007], slow=3))
def test_the_law_holds_in_random_flights_with_every_trouble(seed: int) -> None:
    """Transactions, crashes, unclean elections, deleted records, new partitions, other subscriptions, seeks."""
    assert delivery_errors(fateful(seed), seed) == []


def test_a_successor_has_what_a_crash_took_below_the_record_that_survived_with_it() -> None:
    view, partition = ClusterView(), PartitionView("orders-0", "orders", 0, taken_by=1)
    partition.placements.append(0, 114, "p-1", 0)
    ledger.truncated(view, partition, 1, 0)  # the host of the leader: nothing was flushed
    survivor = e.RecordsRecovered(
        partition="orders-0", broker=2, first_offset=113, records=1, leader_epoch=0, producer="p-1", first_serial=113
    )
    ledger.recovered(view, partition, survivor)
    ledger.taken_over(view, partition, 2, 0, 114)
    assert list(partition.placements.between(0, 114)) == [(0, 114, "p-1", 0)]


@pytest.mark.parametrize(
    ("log_start", "expected"),
    [
        (70, [(0, 44, "p-1", 0), (44, 80, "p-1", 100)]),
        (50, [(0, 44, "p-1", 0), (44, 80, "p-1", 100)]),
        (47, [(0, 44, "p-1", 0), (44, 47, "p-1", 100), (47, 50, "p-1", 47)]),
    ],
)
def test_a_leader_whose_log_starts_behind_its_old_end_has_nothing_of_that_end(
    log_start: int, expected: list[tuple[int, int, str, int]]
) -> None:
    """Seed 16652: broker-1 came back after DeleteRecords and started over; its old end seemed to stand."""
    before = (taken(1, 0, 0), appended(0, 50, 0, 0), taken(2, 1, 44), appended(44, 36, 1, 100))
    runs = folded(*before, taken(1, 2, 80 if log_start > 49 else 50, log_start))
    assert runs == expected


def test_what_a_deposed_leader_appends_stands_where_it_leads_again() -> None:
    """Seed 12610: broker-2 thawed, appended what had waited for it, and was elected once more (unclean)."""
    deposed = (taken(2, 0, 0), appended(0, 6, 0, 0), taken(1, 1, 6), appended(6, 8, 0, 6))
    assert folded(*deposed) == [(0, 6, "p-1", 0)]
    assert folded(*deposed, taken(2, 2, 14)) == [(0, 14, "p-1", 0)]
    truncated = e.LogTruncated(partition="orders-0", broker=2, offset=6, log_end=14, reason="diverged")
    following = (truncated, appended(6, 8, 1, 100), taken(2, 2, 14))
    assert folded(*deposed, *following) == [(0, 6, "p-1", 0), (6, 14, "p-1", 100)]


def test_a_follower_keeps_what_its_leader_lost_also_when_that_leads_again() -> None:
    """Seed 119: broker-4 came back empty and led; an unclean election gave it to broker-1."""
    again = (taken(4, 0, 0), appended(0, 20, 0, 0), crashed(4, 0, 20), taken(4, 2, 0), appended(0, 9, 2, 100))
    assert folded(*again) == [(0, 9, "p-1", 100)]
    assert folded(*again, taken(1, 3, 20)) == [(0, 20, "p-1", 0)]
    assert folded(*again, taken(1, 3, 9)) == [(0, 9, "p-1", 100)]  # it had truncated and followed
    assert folded(*again, crashed(4, 5, 9), taken(1, 3, 9)) == [(0, 9, "p-1", 100)]


# --- what a broken ledger would say -----------------------------------------------------------------------------------


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def _deaf(patch: pytest.MonkeyPatch, kind: type[e.Event]) -> None:
    """The fold does not hear of this kind."""
    handlers: dict[Any, Any] = HANDLERS
    patch.setitem(handlers, kind, _nothing)


def _empty(*_: object, **__: object) -> dict[str, Any]:
    return {}


def _by_offset(partition: Any, reader: Any, event: e.RecordsProcessed) -> None:  # noqa: ANN401
    """As if offsets were identities."""
    note_run(reader.finished_serials, "checkout-1", event.first_offset, event.next_offset)
    reader.finished.add(event.first_offset, event.next_offset)


BREAKS: list[tuple[str, str, Callable[[pytest.MonkeyPatch], None]]] = [
    ("losses are not heard of", "unclean-election", lambda patch: _deaf(patch, e.RecordsLost)),
    ("offsets are identities", "unclean-election", lambda patch: patch.setattr(ledger, "finished", _by_offset)),
    ("a log is not cut", "unclean-election", lambda patch: patch.setattr(ledger, "taken_over", _nothing)),
    ("first positions count for nothing", "two-groups", lambda patch: patch.setattr(ledger, "begins", _nothing)),
    ("commits pass nothing", "commit-before-processing", lambda patch: patch.setattr(delivery, "_passed", _empty)),
    ("deletions skip nothing", "offset-reset", lambda patch: patch.setattr(delivery, "_deleted", _empty)),
    ("ABORT markers are not read", "transaction-abort", lambda patch: patch.setattr(ledger, "ended", _nothing)),
    (
        "nothing is acknowledged",
        "at-least-once",
        lambda patch: _deaf(patch, e.BatchAcknowledged),
    ),
]


@pytest.mark.parametrize(("name", "broken_so"), [each[1:] for each in BREAKS], ids=[each[0] for each in BREAKS])
def test_a_broken_ledger_is_caught(
    name: str, broken_so: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken_so(monkeypatch)
    assert delivery_errors(load(name).spec, stop=True)


@pytest.mark.slow
def test_a_count_that_takes_a_record_twice_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """Overlapping terms leave less than nothing unread."""
    monkeypatch.setattr(delivery, "_count", _twice(delivery._count))
    assert any("the law is law_broken" in words for words in delivery_errors(load("unclean-election").spec))


def _twice(count: Callable[..., None]) -> Callable[..., None]:
    """What is delivered and later lost counts as lost as well, as it once did."""

    def wrapper(counts: dict[str, int], *args: Any, **more: Any) -> None:  # noqa: ANN401
        before = counts["delivered_then_lost"]
        count(counts, *args, **more)
        counts["lost"] += counts["delivered_then_lost"] - before

    return wrapper


# --- twins ------------------------------------------------------------------------------------------------------------


def twins(victim: str) -> ScenarioSpec:
    """Two members share one group.instance.id, the second comes 30 s after the first; one of them is killed."""
    transactions = TransactionsSpec("t-{n}", records=7, abort=0.2)
    group = GroupSpec(
        "g",
        ("orders",),
        members=2,
        stagger_us=30 * SECOND_US,
        config={"group.instance.id": "cashier"},
        application=ApplicationSpec(sink="db"),
    )
    spec = ScenarioSpec(
        title="twins",
        until_us=60 * SECOND_US,
        topics=(TopicSpec("orders", partitions=2, replication=1),),
        producers=(ProducerSpec("p", ("orders",), limit=300, transactions=transactions),),
        groups=(group,),
    )
    return with_steps(spec, (40, f"kill {victim}"))


@pytest.mark.parametrize("victim", ["g-1", "g-2"])
def test_of_twins_every_record_is_in_one_count(victim: str) -> None:
    """What stood before the group's first position (auto.offset.reset is latest) was in none."""
    assert delivery_errors(twins(victim)) == []
    counts = flown(twins(victim)).document["delivery"]["by_group"]["g"]
    assert counts["skipped"] > 0
    assert counts["acknowledged"] == counts["acked"] > 200


def test_a_rebalance_is_over_before_a_twin_takes_its_share() -> None:
    flight = flown(twins("g-1"))
    (one,) = flight.simulation.view.groups["g"].rebalances
    assert one.took_us < 4 * SECOND_US
    assert flight.document["groups"]["g"]["last_rebalance"]["took_ms"] == one.took_us // 1000


def test_an_initial_barrier_waits_for_no_member() -> None:
    flight = flown(twins("g-1"))
    assert flight.document["groups"]["g"]["last_rebalance"]["waited_for"] == ""
    assert flight.simulation.view.groups["g"].rebalances[0].initial


def careless(*steps: tuple[int, str]) -> ScenarioSpec:
    """One broker, and a producer that waits for no answer."""
    spec = ScenarioSpec(
        title="careless",
        until_us=40 * SECOND_US,
        brokers=(BrokerSpec(1),),
        topics=(TopicSpec("orders", replication=1),),
        producers=(ProducerSpec("p", ("orders",), limit=200, config={"acks": "0", "enable.idempotence": False}),),
        groups=(GroupSpec("g", ("orders",), config={"auto.offset.reset": "earliest"}),),
    )
    return with_steps(spec, *steps)


def test_what_a_full_disk_takes_from_a_producer_that_waits_for_no_answer_is_lost() -> None:
    """The broker halts with the request in its hands: seed 515 once left such a record unread for ever."""
    flight = flown(careless((8, "fill disk of broker-1 for 3s"), (12, "start broker-1")))
    counts = flight.document["delivery"]["by_group"]["g"]
    assert (counts["unread"], counts["lost"] > 0, law_broken(counts)) == (0, True, False)


@pytest.mark.parametrize("way", ["kill", "crash"])
def test_what_a_frozen_broker_takes_from_a_producer_that_waits_for_no_answer_is_lost(way: str) -> None:
    """Requests wait in its sockets when its process dies: in seeds 249, 2996 and 4595 their records stayed unread."""
    spec = careless((5, "pause broker-1"), (7, f"{way} broker-1"), (12, "start broker-1"))
    counts = flown(spec).document["delivery"]["by_group"]["g"]
    assert (counts["unread"], counts["lost"] > 0, law_broken(counts)) == (0, True, False)
    assert delivery_errors(spec) == []


# --- a first position that is not in the log --------------------------------------------------------------------------


def test_a_first_position_beyond_the_end_counts_when_the_log_reaches_it() -> None:
    assert delivery_errors(ahead()) == []


def test_what_is_read_of_a_first_position_beyond_the_end() -> None:
    """Seed 4272: eight records that the application skipped, at offsets below a refused position, stayed unread."""
    flight = flown(ahead())
    counts = flight.document["delivery"]["by_group"]
    readers = {name: flight.simulation.view.groups[name].readers["orders-0"] for name in counts}
    for name, start in (("refused", 0), ("moved", 5), ("reached", 38), ("back", 38), ("never", 9_000)):
        assert readers[name].start == start, name
    for name in ("refused", "moved"):  # the first position in the log is another one: all behind it is read, or passed
        assert (counts[name]["unread"], counts[name]["lost"] > 0) == (0, True)
        assert counts[name]["skipped"] <= readers[name].start
    assert readers["reached"].end_at_start < 38 == counts["reached"]["skipped"]
    assert (counts["reached"]["unread"], counts["reached"]["lost"] > 0) == (0, True)
    assert 0 < counts["back"]["skipped"] < 38  # what it read of that after all is delivered
    assert counts["back"]["unread"] == 0
    assert counts["never"]["unread"] == counts["never"]["acknowledged"] > 0


@pytest.mark.parametrize("what", ["_appended_before", "_passed"])
def test_a_ledger_that_takes_such_a_position_at_its_word_is_caught(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, what, _empty)
    assert delivery_errors(ahead(), stop=True)


def test_a_ledger_that_begins_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it once did: the first position was the first that was given, whether or not the log reached it."""
    begins = ledger.begins

    def once(partition: PartitionView, reader: ReaderView, offset: int) -> None:
        if reader.start == NEVER:
            begins(partition, reader, offset)

    monkeypatch.setattr(ledger, "begins", once)
    assert delivery_errors(ahead(), stop=True)
