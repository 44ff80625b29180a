"""What is told of a rebalance in a whole cluster: its cause, its rounds, how long it took, what it moved and cost."""

from itertools import pairwise

import msgspec
import pytest

from cluster import events as e
from cluster.config import Value
from cluster.protocol import reasons
from cluster.view import ClusterView, fold
from cluster.view.state import GroupView
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import SECOND_US, group_of

EAGER = ("range",)


def story(flight: Flown) -> GroupView:
    view = ClusterView()
    for event in flight.all(e.Event):
        fold(view, event)
    return view.groups["g"]


def causes(group: GroupView) -> list[tuple[str, str]]:
    return [(one.cause, one.trigger) for one in group.rebalances[1:]]


def test_the_next_round_names_the_round_that_made_it_necessary() -> None:
    group = story(flown(group_of((15, "scale g to 3"))))
    first, second = group.rebalances[1:]
    assert (first.cause, first.trigger, first.follows) == ("member joined", "g-3", 0)
    assert (second.cause, second.follows) == ("partitions revoked", first.generation)
    assert second.trigger in {"g-1", "g-2"}
    assert (first.moved, second.moved) == (0, 2), "what changes hands is given in the second round"


def test_cooperative_rounds_account_for_every_moment_without_an_owner() -> None:
    group = story(flown(group_of((15, "scale g to 3"))))
    rounds = group.rebalances[1:]
    assert sum(one.stopped_partition_us for one in rounds) == group.stopped_partition_us > 0
    assert rounds[0].stopped_partition_us > 0, "from being given up until the next round begins"
    assert rounds[1].kept == 4


@pytest.mark.parametrize("assignors", [EAGER, ("cooperative-sticky",)])
def test_it_takes_until_everybody_has_its_share(assignors: tuple[str, ...]) -> None:
    flight = flown(group_of((15, "scale g to 3"), assignors=assignors))
    group = story(flight)
    for one in group.rebalances:
        shares = [fact.at_us for fact in flight.all(e.PartitionsAssigned) if fact.generation == one.generation]
        assert len(shares) == one.members
        assert one.started_us + one.took_us == max(shares) > one.stable_us
    assert flight.document["groups"]["g"]["last_rebalance"]["took_ms"] == group.rebalances[-1].took_us // 1000


@pytest.mark.slow
def test_a_member_that_never_takes_its_share_does_not_make_it_last() -> None:
    """A follower dies as soon as the join barrier has closed: the next rebalance says what became of it."""
    joining = (15, "scale g to 3")
    closed = flown(group_of(joining, assignors=EAGER)).all(e.JoinBarrierCompleted)[-1]
    follower = next(member for member in ("g-1", "g-2") if member != closed.leader)
    dies = ((closed.at_us + 100) / SECOND_US, f"kill {follower}")
    flight = flown(group_of(joining, dies, assignors=EAGER, until_s=90))
    group = story(flight)
    before, after = group.rebalances[-2:]
    assert (before.generation, before.members) == (closed.generation, 3)
    assert before.started_us + before.took_us < before.stable_us + SECOND_US
    assert (after.cause, after.trigger, after.members) == ("session expired", follower, 2)
    for earlier, later in pairwise(group.rebalances):
        assert earlier.started_us + earlier.took_us <= later.started_us


def test_a_changed_subscription_is_the_causes_word_and_the_clients_reason() -> None:
    flight = flown(group_of((15, "subscribe g-2 to orders,payments"), assignors=EAGER))
    assert causes(story(flight)) == [("subscription changed", "g-2")]
    assert story(flight).rebalances[-1].detail.endswith(f"client reason: {reasons.SUBSCRIPTION_CHANGED}")


def test_a_static_members_return_is_no_rebalances_doing() -> None:
    """It reads on from its last commit without a rebalance: neither time nor records count for the last one."""
    static = group_of((20.4, "kill g-1"), (23, "start g-1"), assignors=EAGER, static=True)
    flight = flown(static)
    group = story(flight)
    assert [one.cause for one in group.rebalances] == ["member joined"]
    (one,) = group.rebalances
    assert (one.reread, one.stopped_partition_us) == (0, 0)
    assert one.took_us < 10 * SECOND_US
    assert group.stopped_partition_us > 2 * SECOND_US, "the partitions did stand still"
    assert group.duplicated > 0, "and records were read again"


def test_what_an_eager_rebalance_reads_again_is_counted_once() -> None:
    """g-1 dies with records that it had not committed: the member that gets its partitions reads them again."""
    flight = flown(group_of((20.9, "kill g-1"), assignors=EAGER, until_s=60))
    last = story(flight).rebalances[-1]
    assert (last.cause, last.trigger, last.moved) == ("session expired", "g-1", 3)
    assert last.reread > 0
    assert flight.document["groups"]["g"]["last_rebalance"]["reread"] == last.reread


def test_a_coordinator_that_dies_while_members_join_is_the_cause_of_what_follows() -> None:
    """g-1 is killed and back at once, g-2 waits with its new process at the barrier; then their coordinator dies."""
    steps = ((15, "kill g-1"), (15.2, "start g-1"), (18.5, "kill broker-3"))
    flight = flown(group_of(*steps, assignors=EAGER, until_s=60))
    (loaded,) = flight.all(e.GroupLoaded)
    (started,) = flight.all(e.RebalanceStarted, after_us=loaded.at_us)
    assert (loaded.state, loaded.generation) == ("Stable", 1)
    assert (started.cause, started.trigger) == ("coordinator moved", "g-2")
    assert started.detail.endswith("client reason: rebalance failed due to CoordinatorLoadInProgressException")
    assert causes(story(flight)) == [("coordinator moved", "g-2")]


def test_partitions_that_come_back_in_a_member_epoch_are_no_rebalances_doing() -> None:
    """With the new protocol, too; what a member takes over after Stable for the first time makes it last longer."""
    scenario = group_of((20.4, "stop g-2"), (33, "start g-2"), static=True)
    (group,) = scenario.groups
    config: dict[str, Value] = {"group.protocol": "consumer", "auto.offset.reset": "earliest"}
    group = msgspec.structs.replace(group, assignors=(), config=config)
    flight = flown(msgspec.structs.replace(scenario, groups=(group,)))
    told = story(flight)
    one = told.rebalances[-1]
    taken = [fact for fact in flight.all(e.PartitionsAssigned) if fact.partitions]
    assert [fact.generation for fact in taken if fact.member == "g-2"] == [one.generation] * 2
    first = [fact.at_us for fact in taken if fact.at_us < 20 * SECOND_US]
    assert one.stable_us < one.started_us + one.took_us == max(first) < 12 * SECOND_US
    assert one.reread == 0
    alone_us = told.stopped_partition_us - sum(each.stopped_partition_us for each in told.rebalances)
    assert alone_us > 3 * 12 * SECOND_US, "three partitions did stand still"
    document = flight.document["groups"]["g"]["last_rebalance"]
    assert (document["took_ms"], document["reread"]) == (one.took_us // 1000, 0)
