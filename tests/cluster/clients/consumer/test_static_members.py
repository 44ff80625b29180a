"""Static membership in the client: a member that restarts keeps its place; a second one is fenced (KIP-345)."""

import pytest

from cluster import events as e
from cluster.config import Value
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, group_of

TWINS: dict[str, Value] = {"group.instance.id": "x"}


def rebalances(flight: Flown) -> list[tuple[str, str]]:
    """Cause and trigger of every rebalance after the first."""
    return [(fact.cause, fact.trigger) for fact in flight.all(e.RebalanceStarted) if not fact.initial]


def static(*steps: tuple[float, str], members: int = 3, until_s: float = 50) -> Flown:
    return flown(
        group_of(*steps, members=members, until_s=until_s, assignors=("range",), static=True, stagger_us=SECOND_US)
    )


@pytest.mark.parametrize("word", ["kill", "stop"])
@pytest.mark.parametrize("member", ["g-1", "g-2"])
def test_a_restart_within_the_session_is_not_noticed(word: str, member: str) -> None:
    """g-1 leads the group: its return is no reason to rebalance either (skip_assignment)."""
    flight = static((15, f"{word} {member} for 3s"))
    assert rebalances(flight) == []
    (before,) = flight.all(e.GroupStabilized)
    held = {member_id[:3]: list(partitions) for member_id, partitions in before.assignment.items()}
    assert flight.document["groups"]["g"]["assignment"] == held
    assert flight.document["groups"]["g"]["leader"] == "g-1"
    back = flight.document["members"][member]
    assert (back["state"], back["generation"], back["owned"]) == ("Stable", 1, held[member])
    assert back["instance_id"] == member
    (replaced,) = flight.all(e.StaticMemberReplaced)
    assert (replaced.member, replaced.member_id) == (member, back["member_id"])


@pytest.mark.slow
def test_who_stays_away_for_longer_than_the_session_costs_two_rebalances() -> None:
    flight = static((15, "stop g-2 for 10s"))
    assert rebalances(flight) == [("session expired", "g-2"), ("member joined", "g-2")]


def test_a_static_member_that_does_not_poll_says_nothing_and_stays_until_its_session_ends() -> None:
    scenario = group_of(
        (15, "stall g-2 for 20s"), assignors=("range",), static=True, consumer={"max.poll.interval.ms": 5_000}
    )
    flight = flown(scenario)
    left = next(fact for fact in flight.all(e.MemberStateChanged, member="g-2", state="Left"))
    assert 20 * SECOND_US <= left.at_us < 20.2 * SECOND_US
    (removed,) = flight.all(e.MemberRemoved)
    assert removed.reason == "session expired"
    assert 25 * SECOND_US < removed.at_us < 26.1 * SECOND_US
    (lost,) = (fact for fact in flight.all(e.PartitionsRevoked, member="g-2") if fact.lost)
    assert lost.at_us >= 35 * SECOND_US
    assert rebalances(flight) == [("session expired", "g-2"), ("member joined", "g-2")]


def test_of_two_processes_with_one_instance_id_the_newest_wins() -> None:
    scenario = group_of(until_s=30, assignors=("range",), consumer=TWINS, stagger_us=10 * SECOND_US)
    flight = flown(scenario)
    (fenced,) = flight.all(e.ConsumerFenced)
    assert (fenced.member, fenced.instance_id, fenced.reason) == ("g-1", "x", "FENCED_INSTANCE_ID")
    members, group = flight.document["members"], flight.document["groups"]["g"]
    assert (members["g-1"]["state"], members["g-1"]["fenced"]) == ("Fenced", 1)
    assert members["g-1"]["owned"] == members["g-2"]["owned"] != []  # until close(): nothing was called
    assert not flight.all(e.PartitionsRevoked, member="g-1")
    assert flight.all(e.PollReturned, member="g-1")[-1].at_us <= fenced.at_us
    assert members["g-2"]["state"] == "Stable"
    assert (group["members"], group["leader"], list(group["assignment"])) == (1, "g-2", ["g-2"])
    assert [members[name]["instance_id"] for name in ("g-1", "g-2")] == ["x", "x"]
    assert rebalances(flight) == []


@pytest.mark.slow
def test_a_fenced_process_stays_so_until_it_is_restarted_and_then_fences_the_other() -> None:
    steps = ((25.0, "restart g-1"),)
    flight = flown(group_of(*steps, until_s=40, assignors=("range",), consumer=TWINS, stagger_us=10 * SECOND_US))
    assert [fact.member for fact in flight.all(e.ConsumerFenced)] == ["g-1", "g-2"]
    assert flight.document["members"]["g-1"]["state"] == "Stable"
    (lost,) = flight.all(e.PartitionsRevoked)  # by close(), 15 s after it was fenced
    assert (lost.member, lost.lost, lost.at_us // SECOND_US) == ("g-1", True, 25)


@pytest.mark.slow
def test_a_restarted_static_member_that_wants_more_is_not_noticed() -> None:
    steps = ((15.0, "stop g-2"), (16.0, "subscribe g-2 to orders,payments"), (17.0, "start g-2"))
    flight = flown(group_of(*steps, assignors=("range",), static=True))
    assert flight.document["groups"]["g"]["assignment"]["g-2"] == [f"orders-{number}" for number in (3, 4, 5)]
    assert rebalances(flight) == []


@pytest.mark.slow
def test_a_restarted_static_member_that_no_longer_wants_its_share_rejoins() -> None:
    """The coordinator does not notice; the client does, when its old share does not match what it wants."""
    steps = ((15.0, "stop g-2"), (16.0, "subscribe g-2 to payments"), (17.0, "start g-2"))
    flight = flown(group_of(*steps, assignors=("range",), static=True))
    assert rebalances(flight) == [("subscription changed", "g-2")]
    owned = {name: member["owned"] for name, member in flight.document["members"].items()}
    assert owned == {
        topic[1]: [f"{topic[0]}-{n}" for n in range(6)] for topic in (("orders", "g-1"), ("payments", "g-2"))
    }


@pytest.mark.slow
@pytest.mark.parametrize(("is_static", "expected"), [(False, 6), (True, 0)])
def test_a_rolling_restart_of_three_costs_six_rebalances_or_none(is_static: bool, expected: int) -> None:
    scenario = group_of(
        (20, "rolling restart g every 30s down 10s"),
        members=3,
        until_s=130,
        assignors=("range",),
        static=is_static,
        consumer={"session.timeout.ms": 45_000, "heartbeat.interval.ms": 3_000},
    )
    flight = flown(scenario)
    assert flight.document["groups"]["g"]["rebalances"] == expected
    stopped = flight.all(e.MemberStopped)
    started = flight.all(e.MemberStarted, after_us=10 * SECOND_US)
    assert [(fact.member, fact.how) for fact in stopped] == [("g-1", "stop"), ("g-2", "stop"), ("g-3", "stop")]
    assert [fact.at_us // SECOND_US for fact in stopped] == [20, 50, 80]
    assert [(fact.member, fact.at_us // SECOND_US) for fact in started] == [("g-1", 30), ("g-2", 60), ("g-3", 90)]
    assert flight.document["groups"]["g"]["state"] == "Stable"


@pytest.mark.slow
def test_a_rolling_restart_leaves_alone_who_does_not_run() -> None:
    flight = flown(group_of((15, "kill g-1"), (16, "rolling restart g every 5s"), until_s=40))
    assert [fact.member for fact in flight.all(e.MemberStopped, how="stop")] == ["g-2"]
    assert not flight.document["members"]["g-1"]["alive"]


def test_a_rolling_restart_of_nobody_is_refused() -> None:
    flight = flown(group_of((15, "kill g-1"), (15, "kill g-2"), (16, "rolling restart g every 5s"), until_s=20))
    assert [fact.reason for fact in flight.all(e.CommandRefused)] == ["no member of g is running"]
