"""Coordinators that are broken on purpose: random members find each of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.mutants.consumer_groups import (
    BY_RANDOM_MEMBERS,
    accepts_any_member_epoch,
    commits_for_any_epoch,
    takes_silence_for_a_revocation,
)
from tests.support.checks_member_epochs import (
    a_commit_needs_the_member_epoch,
    another_epoch_is_fenced,
    partitions_are_revoked_before_they_are_assigned,
)
from tests.support.random_group_members import Members

FIRST_FIND = settings(
    max_examples=100, stateful_step_count=40, deadline=None, phases=[Phase.generate], database=None, derandomize=True
)


@pytest.mark.parametrize("breaks", BY_RANDOM_MEMBERS, ids=lambda breaks: breaks.__name__)
def test_random_members_find_it(breaks: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        breaks(patch)
        with pytest.raises((AssertionError, KeyError)):
            run_state_machine_as_test(Members, settings=FIRST_FIND)


def test_what_random_members_rarely_do_is_found_one_by_one() -> None:
    found: tuple[tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]], ...] = (
        (accepts_any_member_epoch, lambda: another_epoch_is_fenced(7, "greater")),
        (commits_for_any_epoch, a_commit_needs_the_member_epoch),
        (takes_silence_for_a_revocation, partitions_are_revoked_before_they_are_assigned),
    )
    for breaks, sound in found:
        with pytest.MonkeyPatch.context() as patch:
            breaks(patch)
            with pytest.raises(AssertionError):
                sound()
