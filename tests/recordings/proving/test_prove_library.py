"""The bounds of the lessons on commits, and which planted bugs the prover finds. Slow: thousands of flights.

FOUND has the mutants that one kill -9 shows. The others are for `flightdeck check`. Those of brokers' logs need more
than one death: what a killed leader has sent still arrives, and its disk keeps its log (`waits_for_no_follower` and
others). A coordinator that loses commits shows it only to a member that joins later
(`loses_commits_when_it_takes_over`). Those of timeouts, generations, epochs and assignments change when records are
read, and neither whether nor how often.
"""

import pytest

from recordings.flights.runner import Setting, make_plan
from recordings.proving.prover import Question, prove
from recordings.scenarios.loader import load
from tests.mutants import MUTANTS
from tests.support.crash_points import pipeline, question

SECOND_US = 1_000_000
DENSER: list[Setting] = [
    ("checkout", "count", "10"),
    ("billing", "per_record", "20ms"),
    ("billing", "max.poll.records", "10"),
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("scenario", "asked", "settings", "lost", "duplicated"),
    [
        ("commit-before-processing", Question("billing", until_us=30 * SECOND_US), DENSER, 16, 0),
        ("commit-after-processing", Question("billing", until_us=30 * SECOND_US), DENSER, 0, 14),
        ("read-process-write", question("producer", "exact-reader", 10_000, 10_700), [], 0, 0),
    ],
)
def test_each_lesson_keeps_what_its_commit_policy_promises(
    scenario: str, asked: Question, settings: list[Setting], lost: int, duplicated: int
) -> None:
    """At most once, at least once, exactly once; two polls of ten at most, because the lesson kills its member, too."""
    proof = prove(make_plan(load(scenario), settings=settings), asked, 2)
    assert proof.complete
    assert len(proof.flown) >= 500
    assert proof.most("lost") <= lost
    assert proof.most("duplicated") <= duplicated
    assert (proof.most("lost") > 0, proof.most("duplicated") > 0) == (lost > 0, duplicated > 0)


AFTER = ("after-each-poll", question("consumer", "billing"))
BEFORE = ("before-processing", question("consumer", "billing", 8_010, 8_016))
EXACTLY = ("transaction", question("producer", "readers", 8_010, 8_030))
FOUND = [
    ("commits_what_it_has_not_got_yet", "lost", AFTER),
    ("begins_behind_what_was_committed", "lost", AFTER),
    ("passes_records_over", "lost", AFTER),
    ("reads_everything_twice", "duplicated", BEFORE),
    ("returns_aborted_records", "duplicated", EXACTLY),
    ("gets_aborted_records", "duplicated", EXACTLY),
    ("forgets_the_last_stable_offset", "duplicated", EXACTLY),
    ("counts_offsets_of_aborted_transactions", "lost", EXACTLY),
    ("sends_only_the_first_marker", "stuck", EXACTLY),
    ("commits_what_it_had_long_ago", "duplicated", BEFORE),
    ("deals_every_partition_to_everybody", "duplicated", BEFORE),
]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("mutant", "breach", "case"), FOUND, ids=[name for name, _, _ in FOUND])
def test_a_planted_bug_that_loses_or_duplicates_is_found(
    mutant: str, breach: str, case: tuple[str, Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, asked = case
    sound = prove(pipeline(commit), asked, 2)
    assert sound.complete
    assert breach == "stuck" or not sound.most(breach)
    MUTANTS[mutant].breaks(monkeypatch)
    broken = prove(pipeline(commit), asked, 2)
    assert broken.stuck if breach == "stuck" else broken.most(breach)
