"""Cooperative rebalances: two rounds for a join, one for a leave, and what does not move is read all the time."""

from itertools import pairwise

import pytest

from cluster import events as e
from cluster.assignors.cooperative_sticky import CooperativeStickyAssignor
from cluster.assignors.sticky import assign_sticky
from cluster.clients.consumer.rejoin import Rejoin
from cluster.clients.consumer.rejoin_states import RejoinEvent
from cluster.config import Value
from cluster.spec import GroupSpec
from recordings.flights.runner import fly as fly_plan
from recordings.flights.runner import make_plan
from recordings.scenarios.loader import load
from tests.support.completed_flight import flown, holders
from tests.support.random_flights import fly
from tests.support.scenario_builders import SECOND_US, group_of

KAFKAS_DEFAULT = GroupSpec("default").assignors


def test_the_default_list_is_kafkas_and_behaves_eager() -> None:
    assert KAFKAS_DEFAULT == ("range", "cooperative-sticky")
    flight = flown(group_of((15, "scale g to 3"), assignors=KAFKAS_DEFAULT))
    assert flight.document["groups"]["g"]["assignor"] == "range"
    assert flight.document["groups"]["g"]["rebalances"] == 1
    revoked = flight.all(e.PartitionsRevoked)
    assert sorted(name for fact in revoked for name in fact.partitions) == [f"orders-{number}" for number in range(6)]


def test_a_cooperative_join_takes_two_rounds_in_which_only_what_moves_is_given_up() -> None:
    flight = flown(group_of((15, "scale g to 3")))
    group = flight.document["groups"]["g"]
    assert group["rebalances"] == 2
    assert {member: len(owned) for member, owned in group["assignment"].items()} == {"g-1": 2, "g-2": 2, "g-3": 2}
    first, second = (fact for fact in flight.all(e.RebalanceStarted) if not fact.initial)
    assert (first.cause, first.trigger) == ("member joined", "g-3")
    assert second.cause == "partitions revoked"
    moved = [name for fact in flight.all(e.PartitionsRevoked) for name in fact.partitions]
    assert len(moved) == 2
    for name, times in holders(flight).items():
        assert len(times) == (2 if name in moved else 1), f"{name} stayed where it was, and was given up"
    assert not any(fact.lost for fact in flight.all(e.PartitionsRevoked))


def test_partitions_that_do_not_move_are_read_while_others_join() -> None:
    """g-2 dies and comes back before its session ends: g-1 waits for five seconds at the barrier, and reads on."""
    flight = flown(group_of((15, "kill g-2"), (16, "start g-2")))
    started = next(fact for fact in flight.all(e.RebalanceStarted) if not fact.initial)
    completed = next(fact for fact in flight.all(e.JoinBarrierCompleted) if fact.at_us > started.at_us)
    assert completed.at_us - started.at_us > 3 * SECOND_US
    polls = [fact.at_us for fact in flight.all(e.PollReturned, member="g-1", after_us=started.at_us - SECOND_US)]
    during = [at_us for at_us in polls if started.at_us < at_us < completed.at_us]
    assert len(during) > 20
    assert max(later - earlier for earlier, later in pairwise(polls)) < SECOND_US
    held = holders(flight)
    mine = [name for name, times in held.items() if times[0][2] == "g-1" and times[0][1] == -1]
    assert mine, "g-1 gave everything up"


def test_what_is_read_between_the_last_commit_and_the_revocation_is_read_again() -> None:
    """Kafka's onJoinPrepare commits once; until onJoinComplete revokes, the member reads on and may not commit."""
    events: list[e.Event] = []
    fly_plan(make_plan(load("cooperative-join"), until_us=60 * SECOND_US), log=events.append)
    committed: dict[str, int] = {}
    finished: dict[str, int] = {}
    joins: dict[str, bool] = {}
    repeated = between = 0
    for event in events:
        match event:
            case e.MemberStateChanged():
                joins[event.member] = event.state == "Syncing"
            case e.OffsetsCommitted():
                assert not joins[event.member], "a commit between JoinGroup and SyncGroup"
                committed |= event.offsets
            case e.RecordsProcessed():
                finished[event.partition] = event.next_offset
                repeated += event.repeated
            case e.PartitionsRevoked():
                between += sum(finished[name] - committed[name] for name in event.partitions)
    assert repeated == between > 0


def test_a_cooperative_leave_takes_one_round() -> None:
    flight = flown(group_of((15, "stop g-3"), members=3))
    group = flight.document["groups"]["g"]
    assert group["rebalances"] == 1
    assert not [fact for fact in flight.all(e.PartitionsRevoked) if fact.member != "g-3"]
    assert sum(len(owned) for owned in group["assignment"].values()) == 6


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_sticky_members_keep_what_they_had(assignor: str) -> None:
    flight = flown(group_of((15, "stop g-3"), members=3, assignors=(assignor,)))
    before: dict[str, tuple[str, ...]] = {}
    for fact in flight.all(e.GroupStabilized):
        now = {member_id[:3]: partitions for member_id, partitions in fact.assignment.items()}
        for member in ("g-1", "g-2"):
            assert set(before.get(member, ())) <= set(now[member])
        before = now
    assert set(before) == {"g-1", "g-2"}
    assert all(before.values())


def test_an_eager_sticky_member_that_leaves_makes_everybody_stop() -> None:
    flight = flown(group_of((15, "stop g-3"), members=3, assignors=("sticky",)))
    assert {fact.member for fact in flight.all(e.PartitionsRevoked)} == {"g-1", "g-2", "g-3"}


def test_no_commit_leaves_between_join_group_and_the_answer_to_sync_group() -> None:
    """A cooperative member reads on meanwhile, but Kafka's client refuses its own commits then."""
    flight = flown(group_of((15, "kill g-2"), (16, "start g-2")))
    started = next(fact for fact in flight.all(e.RebalanceStarted) if not fact.initial)
    stable = next(fact for fact in flight.all(e.GroupStabilized) if fact.at_us > started.at_us)
    joined = next(fact for fact in flight.all(e.JoinReceived, member="g-1") if fact.at_us > started.at_us)
    commits = [fact.at_us for fact in flight.all(e.OffsetsCommitted, member="g-1")]
    assert not [at_us for at_us in commits if joined.at_us < at_us < stable.at_us]
    assert not flight.all(e.OffsetCommitRefused)
    assert [at_us for at_us in commits if at_us > stable.at_us]


def test_a_subscription_change_gives_up_only_what_is_no_longer_wanted() -> None:
    flight = flown(group_of((15, "subscribe g-1 to payments"), members=2, topics=("orders", "payments")))
    rebalances = [fact for fact in flight.all(e.RebalanceStarted) if not fact.initial]
    assert (rebalances[0].cause, rebalances[0].trigger) == ("subscription changed", "g-1")
    owned = flight.document["members"]
    assert all(name.startswith("payments") for name in owned["g-1"]["owned"])
    assert len(owned["g-1"]["owned"]) == 6
    assert len(owned["g-2"]["owned"]) == 6
    held = holders(flight)
    kept = [name for name, times in held.items() if times == [times[0]] and times[0][2] == "g-1"]
    assert any(name.startswith("payments") for name in kept), "payments that it had before were given up"


def test_an_eager_member_that_subscribes_to_another_topic() -> None:
    flight = flown(group_of((15, "subscribe g-1 to payments"), members=1, assignors=("range",)))
    assert flight.document["members"]["g-1"]["owned"] == [f"payments-{number}" for number in range(6)]
    assert flight.document["groups"]["g"]["last_rebalance"]["cause"] == "subscription changed"
    assert "orders-0" in flight.document["groups"]["g"]["committed"], "what was committed stays"


def test_a_cooperative_member_that_is_thrown_out_loses_everything() -> None:
    rarely: dict[str, Value] = {"auto.commit.interval.ms": 60_000}  # a commit renews the session, too
    flight = flown(group_of((15, "pause heartbeats of g-2 for 12s"), until_s=45, consumer=rarely))
    lost = [fact for fact in flight.all(e.PartitionsRevoked) if fact.lost]
    assert [fact.member for fact in lost] == ["g-2"]
    assert len(lost[0].partitions) == 3


SLOW_JOIN = ((14.0, "slow g-1 to 30ms"), (15.0, "scale g to 3"))  # g-1 hears of its share when it polls next


def test_an_assignor_that_moves_what_is_still_owned_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CooperativeStickyAssignor, "assign", lambda _, counts, wanted: assign_sticky(counts, wanted)[0])
    broken = fly(group_of(*SLOW_JOIN), 1, patient=True).wrong
    assert any("both members of g" in words for _, words in broken)


def test_an_eager_member_that_gives_nothing_up_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gives_nothing_up(rejoin: Rejoin) -> None:
        rejoin._change_state(RejoinEvent.PREPARED)

    monkeypatch.setattr(Rejoin, "_prepare", gives_nothing_up)
    broken = fly(group_of(*SLOW_JOIN, assignors=("range",)), 1, patient=True).wrong
    assert any("both members of g" in words for _, words in broken)


def test_nobody_complains_about_a_sound_cooperative_group() -> None:
    fly(group_of((15, "scale g to 3"), (25, "stop p-1")), 1).check()


def test_what_a_round_adds_is_read_when_the_rejoin_for_what_it_takes_away_is_over() -> None:
    """`updateAssignmentMetadataIfNeeded` looks for no positions while a rejoin is needed or under way."""
    steps = (13.1, "subscribe g-2 to orders,payments"), (22.9, "subscribe g-1 to payments")
    flight = flown(group_of(*steps, until_s=36, partitions=4))
    both = 0
    for member in ("g-1", "g-2"):
        story = [event for event in flight.all(e.Event) if getattr(event, "member", "") == member]
        for place, event in enumerate(story):
            if not isinstance(event, e.PartitionsAssigned) or not event.partitions:
                continue
            before = [one for one in story[:place] if one.at_us == event.at_us]
            if not any(isinstance(one, e.PartitionsRevoked) for one in before):
                continue
            both += 1
            later = story[place + 1 :]
            over = next(one for one in later if isinstance(one, e.PartitionsAssigned))
            added = set(event.partitions)
            found = next(one for one in later if isinstance(one, e.PositionsReset) and set(one.positions) & added)
            assert found.at_us >= over.at_us > event.at_us
    assert both
