"""Another assignor, member by member: the vote, the two bounces of KIP-429, and who skips one is refused."""

import pytest

from cluster import events as e
from tests.support.completed_flight import Flown, flown, holders
from tests.support.scenario_builders import SECOND_US, group_of


def assignors(flight: Flown) -> list[str]:
    """The assignor of each generation with members."""
    return [fact.protocol for fact in flight.all(e.JoinBarrierCompleted) if fact.members]


@pytest.mark.slow
def test_two_bounces_lead_from_range_to_cooperative() -> None:
    flight = flown(
        group_of(
            (15, "set g partition.assignment.strategy cooperative-sticky,range"),
            (16, "rolling restart g every 10s down 2s"),
            (50, "set g partition.assignment.strategy cooperative-sticky"),
            (51, "rolling restart g every 10s down 2s"),
            (90, "scale g to 4"),
            members=3,
            until_s=110,
            assignors=("range",),
        )
    )
    assert not flight.all(e.ApplicationFailed)
    voted = assignors(flight)
    assert (voted[0], voted[-1]) == ("range", "cooperative-sticky")
    changes = [name for place, name in enumerate(voted) if place == 0 or voted[place - 1] != name]
    assert changes == ["range", "cooperative-sticky"], "as soon as everybody supports it, it wins, and it stays"
    late = flight.all(e.PartitionsRevoked, after_us=90 * SECOND_US)
    moved = [name for fact in late for name in fact.partitions]
    assert 0 < len(moved) < 3, "everybody is cooperative now: only what moves is given up"
    assert all(times[-1][1] == -1 for times in holders(flight).values())


def test_who_supports_nothing_in_common_is_refused_and_says_why() -> None:
    flight = flown(
        group_of(
            (15, "set g partition.assignment.strategy sticky"),
            (16, "restart g-2"),
            members=3,
            until_s=40,
            assignors=("range",),
        )
    )
    (failed,) = flight.all(e.ApplicationFailed)
    assert (failed.member, failed.reason) == ("g-2", "INCONSISTENT_GROUP_PROTOCOL")
    (stopped,) = flight.all(e.MemberStopped, how="crash")
    assert (stopped.member, stopped.reason) == ("g-2", "INCONSISTENT_GROUP_PROTOCOL")
    group = flight.document["groups"]["g"]
    assert (group["state"], group["members"], sorted(group["assignment"])) == ("Stable", 2, ["g-1", "g-3"])
    assert flight.document["members"]["g-2"]["state"] == "Dead"


def test_the_vote_is_for_the_first_that_all_support() -> None:
    """Two members that prefer round robin outvote one that prefers range, as long as all support both."""
    flight = flown(
        group_of(
            (15, "set g partition.assignment.strategy roundrobin,range"),
            (16, "restart g-2"),
            (25, "restart g-3"),
            members=3,
            until_s=40,
            assignors=("range", "roundrobin"),
        )
    )
    assert assignors(flight)[0] == "range"
    assert assignors(flight)[-1] == "roundrobin"
