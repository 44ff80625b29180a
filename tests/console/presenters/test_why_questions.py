"""Every question that `why?` has to answer, in a flight of the library in which it arises, by the sentence it needs."""

import re
from functools import lru_cache

import msgspec
import pytest

from cluster import events as e
from cluster.spec import ScenarioSpec
from cluster.view import ClusterView, fold
from console.presenters.producers.limits import configs_of
from console.presenters.styled_text import plain
from console.presenters.why.answers import Subject
from console.presenters.why.listing import WhyListing
from console.presenters.why.questions import QUESTIONS
from recordings.scenarios.loader import load
from tests.console.judge.bench import SECOND_US, flown

ASKED = (
    ("partition not consumed", "first-flight", 20, "partition orders-0", "no member of billing reads orders-0"),
    ("partition not consumed", "first-flight", 75, "partition orders-6",
     "billing-3 of billing has orders-6 and reads nothing: its application is stalled"),
    ("generation not complete", "first-flight", 20, "group billing",
     "generation 2 is not complete: billing waits for billing-3"),
    ("generation not complete", "first-flight", 20, "member billing-3", "billing waits for billing-3"),
    ("member gone", "session-expired", 70, "member billing-2", "billing-2's process is not running, and billing"),
    ("member gone", "session-expired", 110, "member billing-2",
     "billing-2 is not a member of billing: its coordinator had no heartbeat for its session"),
    ("lag not zero", "first-flight", 75, "group billing",
     r"billing has a lag of \d+ \(from committed offsets\): \d+ on partitions of billing-3, its application is st"),
    ("lag not zero", "session-expired", 40, "group billing",
     r"billing has a lag of \d+ \(from committed offsets\): most on orders-\d of billing-\d"),
    ("lag not zero", "stuck-last-stable-offset", 75, "group ledger",
     "read_committed reads payments-0 up to 411 of 980"),
    ("last stable offset stuck", "stuck-last-stable-offset", 75, "partition payments-0",
     "gateway-1 times out in 5.0 s (transaction.timeout.ms)"),
    ("last stable offset stuck", "stuck-last-stable-offset", 75, "partition payments-0",
     "abandon transaction of gateway-1"),
    ("last stable offset stuck", "stuck-last-stable-offset", 75, "transaction gateway-1",
     "gateway-1's transaction is open for 54 s"),
    ("last stable offset stuck", "stuck-last-stable-offset", 75, "transaction gateway-1",
     "read_committed reads payments-0 up to 411 of 980"),
    ("last stable offset stuck", "stuck-last-stable-offset", 75, "producer gateway-1", "restart gateway-1"),
    ("last stable offset stuck", "stuck-last-stable-offset", 85, "group ledger",
     "overdue: the coordinator's next scan aborts it"),
    ("producer fenced", "stuck-last-stable-offset", 110, "producer gateway-1",
     "gateway-1's epoch 10 is fenced, its transactional id has 11: its next request is refused"),
    ("producer standing still", "below-min-isr", 62, "producer checkout-1",
     "checkout-1 makes no progress: no acknowledgement for 22 s"),
    ("producer fenced", "zombie-producer", 60, "producer old-1", "old-1 is fenced and sends nothing more"),
    ("produce refused", "below-min-isr", 62, "producer checkout-1",
     "batches of checkout-1 wait: orders-2 is below min.insync.replicas: 1 of 2 in sync, acks=all is refused"),
    ("partition below min ISR", "below-min-isr", 62, "topic orders",
     "orders-0 is below min.insync.replicas: 1 of 2 in sync, acks=all is refused"),
    ("partition leaderless", "unclean-election", 60, "partition orders-0",
     "orders-0 has no live leader: broker-1 is down"),
    ("partition leaderless", "unclean-election", 82, "topic orders", "orders-0 has no leader"),
    ("coordinator not available", "coordinator-failover", 113, "group billing",
     "coordinator broker-3 is down: nothing can complete until its partition has a new leader"),
)  # fmt: skip


SLOW_DISK = "slow disk of broker-1 to 2ms"


@lru_cache(maxsize=1)
def _view(scenario: str, seconds: int) -> tuple[ClusterView, ScenarioSpec]:
    spec, view = load(scenario).spec, ClusterView()
    for event in flown(spec, spec.seed, seconds * SECOND_US):
        fold(view, event)
    return view, spec


@pytest.mark.parametrize(
    ("scenario", "seconds", "subject", "sentence"),
    [pytest.param(*row, id=f"{question}-{row[2]}") for question, *row in sorted(ASKED, key=lambda row: row[1:3])],
)
def test_a_question_is_answered(scenario: str, seconds: int, subject: str, sentence: str) -> None:
    view, spec = _view(scenario, seconds)
    kind, _, name = subject.partition(" ")
    listing = WhyListing(view, Subject(kind, name), seconds * SECOND_US, spec.broker_session_us, 400, configs_of(spec))
    said = [plain(listing.rows(key)[0]) for key in listing.row_keys()]
    words = sentence if "\\" in sentence else re.escape(sentence)
    assert any(re.search(words, each) for each in said), "\n".join(said)


def test_the_end_of_a_process_and_the_command_that_ended_it_are_one_fact() -> None:
    view, spec = _view("below-min-isr", 62)
    listing = WhyListing(view, Subject("broker", "broker-2"), 62_000_000, spec.broker_session_us, 120)
    said = [plain(listing.rows(key)[0]).strip() for key in listing.row_keys()]
    told = [words for words in said if "00:00:40.000" in words]
    assert set(told) == {"00:00:40.000  broker-2 was killed (kill broker-2)"}, said


def test_of_a_frozen_broker_the_fault_that_froze_it_is_told_and_no_later_one() -> None:
    view, spec = ClusterView(), load("first-flight").spec
    for event in flown(spec, spec.seed, 10 * SECOND_US):
        fold(view, event)
    faults = [
        e.FaultStarted(fault=number, text=text, ends_at_us=-1, fault_kind=kind, targets=("broker-1",))
        for number, (text, kind) in enumerate((("pause broker-1", "pause"), (SLOW_DISK, "slow_disk")), start=1)
    ]
    for event in (*faults, e.BrokerPaused(broker=1)):
        fold(view, msgspec.structs.replace(event, seq=view.seq + 1, at_us=view.at_us + 1))
    asked = Subject("broker", "broker-1")
    listing = WhyListing(view, asked, 12 * SECOND_US, spec.broker_session_us, 400, configs_of(spec))
    said = "\n".join(plain(listing.rows(key)[0]) for key in listing.row_keys())
    assert "pause broker-1" in said
    assert SLOW_DISK not in said


@pytest.mark.parametrize("kind", QUESTIONS)
def test_of_what_does_not_exist_at_the_instant_nothing_is_said(kind: str) -> None:
    """Backwards in time an overlay that stays open comes to before its subject's begin."""
    view, _ = _view("first-flight", 20)
    listing = WhyListing(view, Subject(kind, "later-1"), 20 * SECOND_US, None, 100)
    assert listing.row_keys() == []
    assert "does not exist at this instant" in plain(listing.vacant)
