"""The bounds of the lessons on commits, and which planted bugs the prover finds. Slow: thousands of flights.

FOUND has 66 of 90 planted bugs. A death alone shows a dozen; for the others the scenario (`tests.support.planted_bugs`)
brings a second death, slow followers, a zombie, a late batch or a deadline. `stuck` means: records that are never read.
Thirteen can neither lose nor duplicate, and eleven are not found, each for its reason.
"""

from functools import cache

import pytest

from recordings.flights.runner import Setting, make_plan
from recordings.proving.prover import Proof, Question, prove
from recordings.scenarios.loader import load
from tests.mutants import MUTANTS
from tests.support.crash_points import question
from tests.support.planted_bugs import CASES
from tests.support.slow_cases import partly_campaign

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
        pytest.param(
            *("commit-before-processing", Question("billing", until_us=30 * SECOND_US), DENSER, 16, 0),
            marks=pytest.mark.campaign,
        ),
        ("commit-after-processing", Question("billing", until_us=30 * SECOND_US), DENSER, 0, 14),
        pytest.param(
            *("read-process-write", question("producer", "exact-reader", 10_000, 10_700), [], 0, 0),
            marks=pytest.mark.campaign,
        ),
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


FOUND = {
    "after-each-poll": [("commits_what_it_has_not_got_yet", "lost"), ("begins_behind_what_was_committed", "lost"),
                        ("passes_records_over", "lost")],
    "before-processing": [("reads_everything_twice", "duplicated"), ("commits_what_it_had_long_ago", "duplicated"),
                          ("deals_every_partition_to_everybody", "duplicated")],
    "transaction": [("returns_aborted_records", "duplicated"), ("gets_aborted_records", "duplicated"),
                    ("forgets_the_last_stable_offset", "duplicated"),
                    ("counts_offsets_of_aborted_transactions", "lost"), ("sends_only_the_first_marker", "stuck")],
    "outputs": [("commits_what_was_aborted", "lost")],
    "unread": [("acknowledges_before_the_high_watermark", "lost"), ("waits_for_no_follower", "lost")],
    "slow followers": [("appends_repetitions", "duplicated"), ("forgets_sequences_when_it_takes_over", "duplicated"),
                       ("elects_without_a_new_epoch", "stuck")],
    "back before the next death": [("truncates_nothing", "stuck")],
    "the successor dies": [("truncates_what_was_committed", "lost"), ("truncates_to_its_high_watermark", "stuck")],
    "two deaths": [("counts_the_fastest_follower_only", "lost")],
    "too few in sync": [("takes_what_too_few_replicas_hold", "lost")],
    "out of sync": [("elects_anybody", "lost")],
    "catching up": [("lets_anybody_into_the_isr", "lost")],
    "a follower ahead": [("serves_what_its_leader_has_not_committed", "duplicated")],
    "lost answers": [("remembers_one_batch_instead_of_five", "duplicated")],
    "a frozen leader": [("fences_brokers_early", "lost")],
    "read from a follower": [("propagates_no_high_watermark_to_idle_followers", "stuck")],
    "long work": [("renews_no_session", "duplicated"), ("beats_too_seldom", "duplicated"),
                  ("renews_no_session_at_the_barrier", "duplicated"), ("deals_one_partition_to_nobody", "stuck")],
    "a short freeze": [("ends_sessions_early", "duplicated")],
    "scaled often": [("goes_on_with_what_was_revoked", "duplicated")],
    "a late newcomer": [("closes_barriers_early", "duplicated"), ("leaves_too_early_for_a_slow_poll", "duplicated"),
                        ("ignores_that_the_group_rebalances", "duplicated")],
    "no heartbeats": [("renews_no_session_by_a_commit", "duplicated")],
    "a zombie": [("stores_commits_of_old_generations", "duplicated")],
    "a zombie's transaction": [("takes_transactional_commits_of_old_generations", "duplicated")],
    "twins": [("fences_no_static_member", "duplicated")],
    "scaled": [("deals_all_but_one_in_the_cooperative_step", "stuck")],
    "records deleted": [("stays_where_the_log_is_not", "stuck")],
    "long transactions": [("aborts_transactions_early", "duplicated")],
    "frozen for good": [("lets_transactions_last_for_ever", "stuck")],
    "late": [("ends_transactions_without_a_new_epoch", "lost")],
    "late under version 1": [("gives_a_successor_the_same_epoch", "lost")],
    "expired": [("verifies_nothing", "stuck"), ("takes_batches_of_old_epochs", "stuck")],
    "then a newcomer": [("loses_commits_when_it_takes_over", "duplicated"), ("loads_half_of_its_log", "duplicated")],
    "then a member dies": [("answers_before_its_records_are_committed", "duplicated")],
    "the transaction's": [("forgets_what_was_to_be_ended", "lost")],
    "the new protocol": [("keeps_the_target_for_ever", "stuck"), ("never_looks_at_its_topics_again", "stuck"),
                         ("assigns_every_partition_to_every_member", "stuck"), ("leaves_one_partition_out", "stuck"),
                         ("keeps_what_is_not_in_its_target", "duplicated"), ("never_acknowledges", "stuck")],
    "the new protocol, and a member dies": [("never_ends_a_session", "stuck")],
    "the new protocol, then a newcomer": [("assigns_before_others_gave_up", "duplicated"),
                                          ("forgets_what_must_be_given_up", "duplicated")],
    "an upgrade": [("forgets_what_classic_members_own", "duplicated"), ("leaves_classic_members_alone", "stuck")],
    "a downgrade": [("downgrades_without_a_rebalance", "stuck")],
    "a downgrade, then a failover": [("downgrades_without_tombstones", "stuck")],
}  # fmt: skip
"""By the scenario of `tests.support.planted_bugs`: the bugs that a prover finds there, and as what."""

NEITHER_LOSES_NOR_DUPLICATES = {
    "beats_too_often": "a heartbeat more renews a session that was alive",
    "ends_sessions_late": "a dead member's partitions wait longer; no offset changes",
    "closes_barriers_late": "all members of a group wait longer; no offset changes",
    "waits_for_no_newcomers": "the first generation comes earlier, before anything is read",
    "fetches_only_once": "an empty fetch is answered later; what is fetched is the same",
    "fences_brokers_late": "partitions have no leader for longer; the election itself is the same",
    "lets_no_follower_back_in": "an ISR shrinks for good: the last member of it is waited for, no other replica leads",
    "keeps_fenced_brokers_in_the_isr": "what is committed, all of the ISR has, the fenced broker too",
    "gives_batches_up_early": "the producer learns that they failed, and promised nothing; a retry of theirs is known",
    "gives_up_what_it_keeps": "it has committed before, and takes the same partitions back where they stood",
    "removes_a_member_without_a_new_epoch": "a dead member's partitions wait for the next change of the group",
    "deletes_what_is_not_committed": "an operator asked for a deletion; the ledger counts what was deleted as skipped",
    "takes_office_without_a_high_watermark": (
        "readers and ListOffsets (KIP-207) wait until the followers have fetched; they truncate by epochs, not by it"
    ),
}
"""What changes is when records are read, or which ones are promised."""

NOT_FOUND = {
    "deals_before_others_gave_up": (
        "both owners repeat what is not committed, as a sound cooperative group does when a commit meets a rebalance"
    ),
    "keeps_the_generation": "needs a member with a valid id and an old generation: the barrier removes it first",
    **dict.fromkeys(
        (
            "removes_the_last_record_of_a_key",
            "removes_tombstones_too_early",
            "cleans_what_is_not_decided",
            "leaves_the_older_records",
            "counts_aborted_records",
            "moves_records_to_the_front",
        ),
        "what a cleaning takes counts as skipped, never as lost; invariant L2 holds each cleaning against the log",
    ),
    "reads_on_when_it_is_fenced": (
        "joins again within milliseconds, and gives up what is not in its next target; it repeats where that gives it"
        " back what another member has read meanwhile"
    ),
    "asks_for_the_epoch_only_once": "needs three elections within one fetch; test_leader_epochs.py has it",
    "takes_markers_of_replaced_coordinators": (
        "needs a marker that is slower than a coordinator's failover, and a crash in the next transaction;"
        " tests/oracles (producer_state.json) has it"
    ),
}
"""What could lose or duplicate and no scenario here shows; `flightdeck check` and the tests named are for these."""


@cache
def sound(case: str) -> Proof:
    """What holds without a planted bug."""
    return prove(CASES[case].plan(), CASES[case].asked, 2)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("case", "mutant", "breach"), partly_campaign([(case, *bug) for case, bugs in FOUND.items() for bug in bugs], 7)
)
def test_a_planted_bug_that_loses_or_duplicates_is_found(
    case: str, mutant: str, breach: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sound(case).complete
    assert breach == "stuck" or not sound(case).most(breach)
    MUTANTS[mutant].breaks(monkeypatch)
    broken = prove(CASES[case].plan(), CASES[case].asked, 2)
    assert broken.stuck if breach == "stuck" else broken.most(breach)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_planted_bug_replaces_what_exists(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant].breaks(monkeypatch)


def test_each_planted_bug_is_found_or_has_its_reason() -> None:
    found = [mutant for bugs in FOUND.values() for mutant, _ in bugs]
    assert sorted([*found, *NEITHER_LOSES_NOR_DUPLICATES, *NOT_FOUND]) == sorted(MUTANTS)
    assert set(FOUND) == set(CASES)
