"""Rules that are broken on purpose, each found by the real cluster's trace of its situation."""

from collections.abc import Callable

import pytest

from cluster.clients.consumer.consumer import Consumer
from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.storage.compaction import CleanedTransactions
from cluster.storage.producer_state import ProducerStates
from tests.fidelity.comparing import compare
from tests.fidelity.comparisons import simulated_facts, traces
from tests.fidelity.simulated import flown
from tests.mutants import consumer_groups

pytestmark = pytest.mark.xdist_group("fidelity")

Break = Callable[[pytest.MonkeyPatch], None]


def forget_producers(patch: pytest.MonkeyPatch) -> None:
    """The cleaner drops the empty last batch of an idempotent producer."""
    patch.setattr(ProducerStates, "last_records", lambda _: {})


def keep_aborted(patch: pytest.MonkeyPatch) -> None:
    """The cleaner takes records of aborted transactions for others."""
    patch.setattr(CleanedTransactions, "discards", lambda _, batch: False)


def keep_pauses(patch: pytest.MonkeyPatch) -> None:
    """What an eager member gives up is still paused when it comes back."""
    patch.setattr(Consumer, "partitions_gone", lambda *_: None)


def notice_at_once(patch: pytest.MonkeyPatch) -> None:
    """A consumer with assign() looks its coordinator up as soon as the connection breaks, as members do."""

    def disconnected(consumer: ConsumerHost, _: object) -> None:
        consumer.coordinator_unknown("coordinator unavailable", disconnected=True)

    patch.setattr(ConsumerHost, "disconnected", disconnected)


def notice_as_classic(patch: pytest.MonkeyPatch) -> None:
    """A consumer of the new protocol looks its coordinator up before a request fails."""

    def disconnected(consumer: ConsumerHost, connection: object) -> None:
        if connection is consumer._coordinator_connection:
            consumer.coordinator_unknown("coordinator unavailable", disconnected=True)

    patch.setattr(ConsumerHost, "disconnected", disconnected)


@pytest.mark.parametrize(
    ("name", "broken", "said"),
    [
        ("4.3.1/s81-consumer-joins", consumer_groups.assigns_before_others_gave_up, "with local epoch 0"),
        ("4.3.1/s83-consumer-kill", consumer_groups.never_ends_a_session, "the member session expired"),
        ("4.3.1/s83-consumer-kill", consumer_groups.removes_a_member_without_a_new_epoch, "Bumped group epoch to 4"),
        ("4.3.1/s88-consumer-coordinator", notice_as_classic, "is unavailable or invalid due to cause: null"),
        ("4.3.1/s90-consumer-regex", consumer_groups.never_looks_at_its_topics_again, "assigned [s90b-2, s90b-3]"),
        ("4.3.1/s91-consumer-uniform", consumer_groups.keeps_the_target_for_ever, "Computed a new target assignment"),
        ("4.3.1/s72-compaction-producers", forget_producers, "7 []"),
        ("4.3.1/s71-compaction-transactions", keep_aborted, "22 ABORT"),
        ("4.3.1/s69-pause-and-rebalance", keep_pauses, "positions s69-0=12"),
        ("4.3.1/s67-assign-broker-dies", notice_at_once, "coordinator unavailable"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_broken_rule_differs_from_the_real_trace(
    name: str, broken: Break, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = traces()[name]
    known = {str(each) for each in compare(trace.facts, simulated_facts(name)).differences}
    broken(monkeypatch)
    differences = compare(trace.facts, flown(trace.scenario_file, invariants=False)).differences
    fresh = [each.text for each in differences if str(each) not in known]
    assert any(said in text for text in fresh), fresh
