"""What the group screen says of the synthetic flight at its instants."""

from functools import lru_cache

import pytest

from cluster.view import ClusterView
from cluster.view.state import Heartbeat
from console.presenters.activity_lanes import heartbeat_lane, poll_lane, window
from console.presenters.awaited_members import awaited_ids, awaited_joins
from console.presenters.formatting import ranges
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.partition_grids import OwnershipListing, lag_level
from console.presenters.rebalance_details import details_lines
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import NOW, RebalancesListing
from console.presenters.styled_text import MUTED, WARN, length, plain
from tests.support.console import synthetic
from tests.support.console.synthetic import us


@lru_cache(maxsize=16)
def flown(seconds: float) -> ClusterView:
    return synthetic.view_at(seconds)


def text_of(listing: Listing) -> str:
    rows = [plain(row) for key in listing.row_keys() for row in listing.rows(key)]
    return "\n".join([plain(listing.note()), plain(listing.header()), *rows])


def phase(seconds: float, group: str = "billing", width: int = 120) -> str:
    view = flown(seconds)
    return text_of(PhaseListing(view, view.groups[group], us(seconds), width))


def members(seconds: float, group: str = "billing", width: int = 120) -> MembersListing:
    view = flown(seconds)
    return MembersListing(view, view.groups[group], us(seconds), width)


def test_an_empty_group_says_how_to_fill_it() -> None:
    assert "no member runs; start one with :start billing-1" in phase(1.0)


def test_a_member_that_looks_for_its_group_is_named() -> None:
    assert "billing-1 looks up the coordinator (FindCoordinator)" in phase(1.982)
    assert "billing-1 has its member id and joins with it next" in phase(1.996)


def test_the_first_barrier_closes_by_time() -> None:
    said = phase(2.9)
    assert "initial rebalance delay: barrier closes in 2.1 s (group.initial.rebalance.delay.ms)" in said
    assert "2 members at the barrier" in said


def test_a_barrier_waits_for_a_member_without_poll() -> None:
    said = phase(20.0)
    assert "generation 1 → 2" in said
    assert "joined 3 of 4 · waiting for billing-3: last poll 5.8 s ago: stalled; joins inside poll()" in said
    assert "barrier closes when it joins, or in 4:54 (max.poll.interval.ms), without the missing member" in said


def test_a_member_that_has_not_heard_of_the_rebalance_learns_of_it_by_heartbeat() -> None:
    view = flown(15.0)
    reasons = {one.member: one.reason for one in awaited_joins(view, view.groups["billing"], us(15.0))}
    assert reasons["billing-1"] == "notified, joins in its poll()"
    view = flown(14.3)
    reasons = {one.member: one.reason for one in awaited_joins(view, view.groups["billing"], us(14.3))}
    assert reasons["billing-1"] == "notified at its next heartbeat, in 0.2 s"
    assert awaited_ids(view, view.groups["billing"], us(15.0)) == {"billing-1", "billing-2", "billing-3"}


def test_everybody_waits_for_the_leader_until_it_has_shared_out() -> None:
    said = phase(8.005)
    assert "CompletingRebalance" in said
    assert "synced 0 of 3 · waiting for billing-1: the leader is computing the assignment, then sends SyncGroup" in said


def test_a_stable_group_names_its_dead_member_before_the_session_ends() -> None:
    said = phase(60.0)
    assert "3 of 4 members answer; 13 of 18 partitions owned, 18 assigned · billing-2 died without LeaveGroup" in said
    assert "nearest limit: billing-2 session ends in 23 s (session.timeout.ms)" in said


def test_without_a_coordinator_the_group_says_what_cannot_be_done() -> None:
    view = synthetic.view_at(30.0)
    view.partitions[view.groups["billing"].coordinator_partition].leader = -1
    said = text_of(PhaseListing(view, view.groups["billing"], us(30.0), 120))
    assert "no coordinator: __consumer_offsets-1 has no leader" in said


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
@pytest.mark.parametrize("seconds", [1.0, 2.9, 8.005, 20.0, 60.0, 90.0])
def test_no_line_of_the_group_is_wider_than_its_panel(seconds: float, width: int) -> None:
    view = flown(seconds)
    group, now_us = view.groups["billing"], us(seconds)
    listings: list[Listing] = [
        PhaseListing(view, group, now_us, width),
        MembersListing(view, group, now_us, width),
        OwnershipListing(view, group, width),
        RebalancesListing(view, group, now_us, width),
    ]
    for listing in listings:
        for key in listing.row_keys():
            assert all(length(row) <= width for row in listing.rows(key)), (type(listing).__name__, key)


def test_the_awaited_member_is_marked_and_the_others_have_joined() -> None:
    listing = members(20.0)
    states = {key: plain(listing.rows(key)[1]).split()[:2] for key in listing.row_keys()}
    assert states["billing-3"] == ["◀", "awaited"]
    assert states["billing-1"] == ["✓", "joined"]


def test_three_clocks_count_for_a_stalled_member() -> None:
    row, under = (plain(row) for row in members(20.0).rows("billing-3"))
    assert "in 0.5 s" in row
    assert "42 s" in row
    assert "5.8 s" in row
    assert "every 3 s" in under
    assert "of 45 s" in under
    assert "of 5:00" in under


def test_a_dead_member_is_silent_until_its_session_ends() -> None:
    row, under = (plain(row) for row in members(60.0).rows("billing-2"))
    assert "✖ silent" in row
    assert "23 s" in row
    assert "✖ Dead" in under


def test_a_filter_finds_what_a_row_shows() -> None:
    found = members(20.0)
    awaited = [key for key in found.row_keys() if found.matches(key, "awaited")]
    assert awaited == ["billing-3"]
    assert [key for key in found.row_keys() if found.matches(key, "!AWAITED")] == list(found.row_keys())[1:]


@pytest.mark.parametrize(("limit_ms", "tone"), [(300_000, MUTED), (40_000, WARN)])
def test_processing_is_amber_from_a_quarter_of_its_limit(limit_ms: int, tone: str) -> None:
    member = synthetic.view_at(13.0).members["billing-1"]
    member.polling, member.last_poll_us, member.max_poll_interval_ms = False, us(11.0), limit_ms
    assert {tone for text, tone in poll_lane(member, us(40.0), 60) if "▓" in text} == {tone}


def test_the_poll_lane_tells_a_members_last_minute() -> None:
    view = flown(20.0)
    now_us = us(20.0)
    lane = plain(poll_lane(view.members["billing-3"], now_us, 60))
    assert len(lane) == 60
    assert lane.strip() == "░░░░░═━━━━━▒▒▒▒▒▒▒"
    long_lane = plain(poll_lane(flown(60.0).members["billing-2"], us(60.0), 60))
    assert "down ××" in long_lane


def test_processing_shows_before_it_is_over() -> None:
    view = synthetic.view_at(13.0)
    member = view.members["billing-1"]
    member.polling, member.last_poll_us = False, us(3.0 + 8.0)
    assert "▓" in plain(poll_lane(member, us(40.0), 60))


def test_the_heartbeat_lane_marks_answers() -> None:
    view = flown(20.0)
    lane = plain(heartbeat_lane(view.members["billing-1"], view.members["billing-1"].heartbeats, us(20.0), 60))
    assert lane.count("•") == 2
    assert lane.count("↻") == 2
    errors = [Heartbeat(us(10.0), "UNKNOWN_MEMBER_ID")]
    assert "✖" in plain(heartbeat_lane(view.members["billing-1"], errors, us(20.0), 60))


def test_a_held_heartbeat_thread_shows_in_its_lane_and_clock() -> None:
    view = flown(40.0)
    held = synthetic.view_at(40.0)
    held.members["billing-1"].heartbeats_paused = True
    lane = plain(heartbeat_lane(held.members["billing-1"], view.members["billing-1"].heartbeats, us(60.0), 60))
    assert "‖‖‖" in lane
    row = MembersListing(held, held.groups["billing"], us(60.0), 120).rows("billing-1")[0]
    assert "‖ paused" in plain(row)
    assert view.members["billing-1"].heartbeats_paused is False


def test_lane_cells_move_only_when_one_is_full() -> None:
    assert window(us(20.0), 60) == window(us(20.9), 60)
    assert window(us(21.0), 60)[0] - window(us(20.9), 60)[0] == us(1.0)


def test_ownership_tells_owner_moving_and_unread() -> None:
    view = flown(20.0)
    rows = text_of(OwnershipListing(view, view.groups["billing"], 120))
    assert "‖▄ ‖▄ ‖▄ ‖▄ ‖▄ ‖▄ ‖▄ ‖▄ C▄ C▄ C▄ C▄" in rows
    dead = flown(60.0)
    assert "‖" in text_of(OwnershipListing(dead, dead.groups["billing"], 120))


def test_a_partition_on_its_way_to_its_new_owner_is_moving() -> None:
    view = synthetic.view_at(24.47)
    group = view.groups["billing"]
    assert group.state == "Stable"
    assert "↻" in text_of(OwnershipListing(view, group, 120)).splitlines()[2]


def test_grids_narrow_their_cells_and_break_lines() -> None:
    view = synthetic.large_view(400, 4)
    group = view.groups["workers"]
    listing = OwnershipListing(view, group, 80)
    assert listing.cell == 1
    keys = listing.row_keys()
    assert len(keys) == 10
    assert all(length(listing.rows(key)[0]) == 80 for key in keys)
    assert len(OwnershipListing(synthetic.large_view(2_000, 4), group, 80).row_keys()) == 40


def test_lag_has_the_same_height_everywhere() -> None:
    assert [lag_level(lag) for lag in (0, 1, 10, 50, 200, 1_000, 5_000, 20_000, 10**9)] == [0, 1, 2, 3, 4, 5, 6, 7, 7]


def test_partitions_are_written_as_ranges() -> None:
    assert ranges(["orders-0", "orders-1", "orders-10", "orders-2", "payments-4"]) == "orders 0-2,10 · payments 4"
    assert ranges([]) == ""


def test_the_rebalance_under_way_stands_on_top() -> None:
    view = flown(20.0)
    listing = RebalancesListing(view, view.groups["billing"], us(20.0), 120)
    keys = listing.row_keys()
    assert keys[0] == NOW
    assert "↻ member joined" in plain(listing.rows(NOW)[0])
    assert "billing-3" in plain(listing.rows(NOW)[0])


def test_a_rebalance_that_ends_between_two_draws_can_still_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    view = flown(20.0)
    group = view.groups["billing"]
    listing = RebalancesListing(view, group, us(20.0), 120)
    assert listing.row_keys()[0] == NOW
    monkeypatch.setattr(group, "open_rebalance", None)
    assert "↻ member joined" in plain(listing.rows(NOW)[0])


def test_details_of_a_rebalance_hold_cause_chain_wait_and_cost() -> None:
    view = flown(90.0)
    group = view.groups["billing"]
    said = "\n".join(plain(row) for row in details_lines(view, group, str(group.rebalances[-1].started_us), 100))
    assert "session expired (billing-2)  generation 3" in said
    assert "billing-2 was killed" in said
    assert "-43 s" in said
    assert "billing-4 joined last" in said
    assert "38 partition-seconds unowned" in said


def test_a_case_that_is_not_known_any_more_says_so() -> None:
    view = flown(90.0)
    assert "no longer holds" in plain(details_lines(view, view.groups["billing"], "1", 100)[0])


def test_a_newcomer_at_the_barrier_has_no_session_yet() -> None:
    view = synthetic.view_at(20.0)
    group = view.groups["billing"]
    group.session_deadlines_us[synthetic.member_id("billing-4")] = us(314.0)
    row, under = (plain(row) for row in MembersListing(view, group, us(20.0), 120).rows("billing-4"))
    assert "4:54" in row
    assert "join limit" in under
