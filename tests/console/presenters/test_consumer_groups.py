"""What the screens say of a hand-made group of the new protocol at its instants."""

from functools import lru_cache

import pytest

from cluster.view import ClusterView, fold
from console.cli.plain import state_words
from console.presenters.consumer_groups.members_table import ReconciliationListing
from console.presenters.consumer_groups.reconciliation import awaited_members, waiting_members
from console.presenters.event_log import EventLogListing
from console.presenters.list_view import Listing
from console.presenters.members import MembersListing
from console.presenters.overview import BrokersListing, GroupsListing
from console.presenters.partition_grids import OwnershipListing
from console.presenters.rebalance_details import details_lines
from console.presenters.rebalance_phase import PhaseListing
from console.presenters.rebalances import RebalancesListing
from console.presenters.styled_text import length, plain
from tests.support.console import synthetic_consumer_groups as made
from tests.support.console.synthetic import us

CLASSIC_WORDS = ("barrier", "generation", "JoinGroup", "SyncGroup", "LeaveGroup", "leader", "stop-the-world")


@lru_cache(maxsize=32)
def flown(seconds: float) -> ClusterView:
    return made.view_at(seconds)


def text_of(listing: Listing) -> str:
    rows = [plain(row) for key in listing.row_keys() for row in listing.rows(key)]
    return "\n".join([plain(listing.note()), plain(listing.header()), *rows])


def phase(seconds: float, width: int = 240) -> str:
    view = flown(seconds)
    return text_of(PhaseListing(view, view.groups[made.GROUP], us(seconds), width))


def table(seconds: float, width: int = 160) -> ReconciliationListing:
    view = flown(seconds)
    return ReconciliationListing(view, view.groups[made.GROUP], us(seconds), width)


def details(seconds: float, place: int) -> str:
    view = flown(seconds)
    group = view.groups[made.GROUP]
    return "\n".join(plain(row) for row in details_lines(view, group, group.rebalances[place].key, 100))


def test_the_phase_names_the_member_that_must_give_up_partitions_and_its_limit() -> None:
    said = phase(18.0)
    assert "consumer · uniform · group epoch 3 · assignment epoch 3 · coordinator broker-2" in said
    assert "↻ Reconciling  member joined (fulfilment-3) 6.0 s ago: each member reconciles on its own" in said
    assert "reconciled 1 of 3 · waiting for fulfilment-1 to revoke orders 2 for fulfilment-3" in said
    assert "(stalled, last poll 7.0 s ago)" in said
    assert "fulfilment-1 is fenced in 4:54 (max.poll.interval.ms)" in said
    assert "fulfilment-3 waits for orders 2 of fulfilment-1; 2 members keep consuming" in said


def test_a_member_that_has_not_heard_of_its_target_is_awaited_until_its_heartbeat() -> None:
    said = phase(5.0)
    assert "reconciled 0 of 2 · waiting for fulfilment-1 to revoke orders 3-5 for fulfilment-2" in said
    assert "(next heartbeat in 2.1 s)" in said
    assert "is fenced in" not in said


def test_the_table_has_the_awaited_member_first() -> None:
    listing = table(18.0)
    assert [listing.name_of(key) for key in listing.row_keys()] == ["fulfilment-1", "fulfilment-3", "fulfilment-2"]
    first, second, third = (plain(listing.rows(key)[0]).split() for key in listing.row_keys())
    assert first[:6] == ["fulfilment-1", "2", "(-1)", "↻", "UNREVOKED_PARTITIONS", "orders"]
    assert first[-1] == "4:54"
    assert second[1:4] == ["3", "↻", "UNRELEASED_PARTITIONS"]
    assert "waits for orders 2 of fulfilment-1" in plain(listing.rows(listing.row_keys()[1])[0])
    assert third[:4] == ["fulfilment-2", "3", "●", "STABLE"]
    assert listing.matches(listing.row_keys()[0], "ment-1")
    assert not listing.matches(listing.row_keys()[0], "!ment-1")


def test_only_members_that_lose_partitions_are_awaited() -> None:
    view = flown(18.0)
    group = view.groups[made.GROUP]
    assert [(one.member, one.gives_up, one.wanted_by) for one in awaited_members(view, group, us(18.0))] == [
        ("fulfilment-1", ("orders-2",), ("fulfilment-3",))
    ]
    assert [(one.member, one.held_by) for one in waiting_members(group)] == [
        ("fulfilment-3", {"fulfilment-1": ("orders-2",)})
    ]


def test_a_member_takes_released_partitions_with_its_next_heartbeat() -> None:
    assert "reconciled 2 of 3 · waiting for fulfilment-3 (next heartbeat in 4.1 s)" in phase(23.0)


def test_a_dead_member_is_named_before_its_session_ends() -> None:
    said = phase(31.0)
    assert "2 of 3 members answer; 4 of 6 partitions owned, 6 assigned · fulfilment-2 died without a last" in said
    assert "group epoch 3: member joined (fulfilment-3): 15 s, revocation by fulfilment-1 9.8 s; 2 moved" in said
    assert "fulfilment-2 session ends in 14 s (group.consumer.session.timeout.ms)" in phase(60.0)


def test_the_overview_says_who_is_awaited_and_until_when() -> None:
    view = flown(18.0)
    said = text_of(GroupsListing(view, us(18.0), 200))
    assert "epoch" in said.splitlines()[1]
    assert "1/3" in said
    assert "↻ fulfilment-1: revokes orders 2 for fulfilment-3, fenced in 4:54" in said
    assert "↻ fulfilment-1: fenced in 4:54" in text_of(GroupsListing(view, us(18.0), 120))


def test_the_case_file_tells_who_gave_up_what() -> None:
    said = details(31.0, 2)
    assert said.startswith("member joined (fulfilment-3)  group epoch 3")
    assert "sends its first heartbeat, with member epoch 0" in said
    assert "fulfilment-1 revoked orders 2 within 9.8 s" in said
    assert "had their targets in this order: fulfilment-2 +2.3 s, fulfilment-1 +10 s, fulfilment-3 +15 s" in said
    assert "2 partitions paused, 4 stayed owned (a member revokes only what moves)" in said
    assert "The coordinator computes a target assignment at" in details(31.0, 0)
    assert "for group.consumer.session.timeout.ms (45 s)" in details(89.0, 3)


def test_plain_lines_name_the_group_epoch() -> None:
    assert "fulfilment Reconciling, 3 members, group epoch 3, lag" in state_words(flown(18.0), [])


@pytest.mark.parametrize("seconds", [0.5, 1.985, 2.0, 4.05, 5.0, 7.15, 9.12, 15.0, 18.0, 23.0, 31.0, 60.0, 75.0, 89.0])
@pytest.mark.parametrize("width", [80, 120, 240])
def test_no_screen_speaks_of_the_classic_protocol(seconds: float, width: int) -> None:
    view, now_us = flown(seconds), us(seconds)
    group = view.groups[made.GROUP]
    listings = [
        PhaseListing(view, group, now_us, width),
        ReconciliationListing(view, group, now_us, width),
        MembersListing(view, group, now_us, width),
        MembersListing(view, group, now_us, width, brief=True),
        RebalancesListing(view, group, now_us, width),
        OwnershipListing(view, group, width),
        GroupsListing(view, now_us, width),
        EventLogListing(view, width),
    ]
    said = [text_of(one) for one in listings]
    said += [plain(row) for one in group.rebalances for row in details_lines(view, group, one.key, width)]
    assert not [word for word in CLASSIC_WORDS if word in "\n".join(said)]
    assert all(length(row) <= width for one in listings for key in one.row_keys() for row in one.rows(key))
    assert text_of(BrokersListing(view, width))


def test_two_rebalances_of_one_instant_have_rows_of_their_own() -> None:
    flight = made.ConsumerGroupFlight()
    made.declare_group(flight)
    one, two, _ = made.MEMBERS
    flight.subscribed(2.0, one)
    flight.bumped(2.0, 1, "member joined", one, {one: made.orders(0, 1)})
    flight.moved(2.0, one, "STABLE", 1, made.orders(0, 1))
    flight.state(2.0, "Stable")
    flight.subscribed(2.0, two)
    flight.bumped(2.0, 2, "member joined", two, {})
    flight.moved(2.0, two, "STABLE", 2, ())
    flight.moved(2.0, one, "STABLE", 2, made.orders(0, 1))
    flight.state(2.0, "Stable")
    view = ClusterView()
    for event in flight.in_order():
        fold(view, event)
    group = view.groups[made.GROUP]
    keys = RebalancesListing(view, group, us(3.0), 120).row_keys()
    assert len(keys) == 2
    assert [plain(details_lines(view, group, key, 100)[0])[-13:] for key in keys] == ["group epoch 2", "group epoch 1"]
