"""What a coordinator of the new protocol owes to member epochs: tests call it, and broken coordinators fail it."""

from __future__ import annotations

from cluster import events as e
from cluster.protocol.errors import ErrorCode
from tests.support.consumer_group_client import GROUP, Member, commit, committed, desk_with, joined

E = ErrorCode


def partitions_are_revoked_before_they_are_assigned() -> None:
    desk = desk_with({"orders": 4})
    one, two = Member(desk, "one", "orders"), Member(desk, "two", "orders")
    one.join()
    one.obey()
    answer = two.join()
    assert (answer.member_epoch, answer.assignment) == (3, ())
    kept = one.beat()
    assert (kept.member_epoch, kept.assignment) == (2, ("orders-0", "orders-1"))
    group = desk.coordinator.consumer_groups[GROUP]
    assert group.members["one-id"].state == "UNREVOKED_PARTITIONS"
    assert group.members["two-id"].state == "UNRELEASED_PARTITIONS"
    assert two.beat().assignment is None, "the first member has not confirmed yet"
    assert one.obey().member_epoch == 3
    assert two.beat().assignment == ("orders-2", "orders-3")
    assert group.state == "Stable"


def another_epoch_is_fenced(epoch: int, word: str) -> None:
    desk = desk_with({"orders": 2})
    one = Member(desk, "one", "orders")
    one.join()
    answer = one.take(one.send(epoch))
    assert answer.error is E.FENCED_MEMBER_EPOCH
    assert f"has a {word} member epoch ({epoch})" in answer.message
    assert one.join().member_epoch == 2, "with epoch 0 a known member may always join again"
    assert one.told == ("orders-0", "orders-1")


def a_commit_needs_the_member_epoch() -> None:
    desk, _ = joined()
    assert commit(desk, 2) is E.NONE
    assert commit(desk, 3) is E.STALE_MEMBER_EPOCH
    assert commit(desk, 1) is E.STALE_MEMBER_EPOCH
    assert commit(desk, 2, member_id="other") is E.UNKNOWN_MEMBER_ID
    assert commit(desk, -1, member_id="") is E.UNKNOWN_MEMBER_ID
    assert committed(desk) == 7
    assert [one.error for one in desk.emitted(e.OffsetCommitRefused)] == [
        "STALE_MEMBER_EPOCH", "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID",
    ]  # fmt: skip
