"""What a healed cluster must show of delivery: as strict as every topic that a group read allows."""

from typing import Any

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.fetcher import Fetcher
from cluster.commands import parse, text_of
from cluster.config import Value
from cluster.coordinators.transaction.context import TransactionSettings
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    CommitPolicy,
    ExpectationSpec,
    GroupSpec,
    KeysSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
)
from cluster.view.fold import HANDLERS
from cluster.view.state import ClusterView
from recordings.swarm.convergence import converged
from recordings.swarm.seeds import CONVERGED, fly_once
from tests.support.scenario_builders import steps_at

EARLIEST: dict[str, Value] = {"auto.offset.reset": "earliest"}
LOSSLESS = 'delivery.by_group["g"].lost == 0'


def spec(*commands: str, acks: str = "all", config: dict[str, Value] = EARLIEST) -> ScenarioSpec:
    """A group that reads one topic of two; a producer with these acks writes to the other."""
    parsed = [parse(text) for text in commands]
    return ScenarioSpec(
        title="healed",
        until_us=60_000_000,
        topics=(TopicSpec("read"), TopicSpec("other")),
        producers=(ProducerSpec("p", ("read",)), ProducerSpec("q", ("other",), config={"acks": acks})),
        groups=(GroupSpec("g", ("read",), config=config),),
        steps=tuple(StepSpec(10_000_000, command, text_of(command)) for command in parsed),
    )


@pytest.mark.parametrize("acks", ["0", "1"])
def test_what_a_careless_producer_loses_counts_also_in_a_topic_that_was_read_for_a_while(acks: str) -> None:
    """Seed 7341839 once said that acknowledged records were lost: sent with acks=0, to a topic of a subscription."""
    assert LOSSLESS in converged(spec(acks=acks))
    assert LOSSLESS in converged(spec("subscribe g-1 to read,other"))
    assert LOSSLESS not in converged(spec("subscribe g-1 to read,other", "subscribe g-1 to read", acks=acks))


def test_an_unclean_election_counts_also_in_a_topic_that_was_read_for_a_while() -> None:
    assert LOSSLESS in converged(spec("elect unclean other-0"))
    assert LOSSLESS not in converged(spec("subscribe g-1 to other", "elect unclean other-0"))


def test_deleted_records_are_no_loss_to_who_goes_on_at_the_beginning() -> None:
    assert LOSSLESS in converged(spec("delete records read-0 before 5"))
    assert LOSSLESS not in converged(spec("delete records read-0 before 5", config={}))


# --- what a commit that failed leaves behind --------------------------------------------------------------------------

READ, COMMITTED = 'delivery.by_group["g"].unread == 0', 'groups["g"].lag == 0'


def committing(how: CommitPolicy, *commands: str) -> list[str]:
    scenario = spec(*commands)
    groups = (GroupSpec("g", ("read",), config=EARLIEST, application=ApplicationSpec(commit=how)),)
    return converged(msgspec.structs.replace(scenario, groups=groups))


def test_an_asynchronous_commit_that_failed_is_not_repeated_and_all_is_read_nevertheless() -> None:
    """Seed 5608: broker-1 was killed under the last commit of a partition that got no more records."""
    assert {READ, COMMITTED, 'members["g-1"].lag == 0'} <= {*committing("async")}
    assert {READ, COMMITTED} <= {*committing("after-each-poll", "kill broker-1")}
    struck = committing("async", "kill broker-1")
    assert COMMITTED not in struck
    assert {READ, 'members["g-1"].lag == 0'} <= {*struck}


def test_a_group_whose_own_transactions_may_hang_reads_on_only_where_none_does() -> None:
    """Two hosts took the state of transactions: offsets stay unstable, OffsetFetch waits (seed 63126 with crashes)."""
    assert 'members["g-1"].lag == 0' in committing("transaction", "crash broker-1")
    assert 'members["g-1"].lag == 0' not in committing("transaction", "crash broker-1", "crash broker-2")


# --- transactional ids that expire while a group joins ----------------------------------------------------------------

ONCE = 'delivery.by_group["audit"].duplicated == 0'
STABLE = 'groups["g"].state == "Stable" && groups["g"].members == 2'


def exactly_once(expiration_ms: int, delay_ms: int = 3_000) -> ScenarioSpec:
    """Two members that commit in transactions and always have something to read."""
    return ScenarioSpec(
        title="ids expire",
        until_us=60_000_000,
        brokers=(BrokerSpec(1),),
        config={
            "group.initial.rebalance.delay.ms": delay_ms,
            "transactional.id.expiration.ms": expiration_ms,
            "transaction.remove.expired.transaction.cleanup.interval.ms": 1_000,
        },
        topics=(TopicSpec("read", partitions=4, replication=1),),
        producers=(ProducerSpec("p", ("read",), rate_per_second=20.0, keys=KeysSpec("uniform", distinct=50)),),
        groups=(
            GroupSpec(
                "g",
                ("read",),
                members=2,
                config=EARLIEST,
                application=ApplicationSpec(commit="transaction", restart_after_us=500_000),
            ),
        ),
        expectations=(ExpectationSpec(that=STABLE, at_us=59_000_000),),
    )


def becomes_stable(scenario: ScenarioSpec) -> bool:
    outcome = fly_once(scenario)
    assert outcome.invariant in ("", CONVERGED), outcome.found
    return outcome.invariant == ""


def test_a_group_whose_ids_expire_at_the_initial_barrier_never_settles_and_need_not() -> None:
    """Seeds 525 and 3153: initTransactions, six seconds at the barrier, INVALID_PRODUCER_ID_MAPPING, and once more."""
    livelock = exactly_once(4_000)
    assert not becomes_stable(livelock)
    assert STABLE not in converged(livelock)


@pytest.mark.parametrize("config", [(8_000, 3_000), (4_000, 500)])
def test_a_group_whose_ids_live_longer_than_that_barrier_settles(config: tuple[int, int]) -> None:
    assert STABLE in converged(exactly_once(*config))
    assert becomes_stable(exactly_once(*config))


def audited(scenario: ScenarioSpec) -> list[str]:
    """What is asked of the same group when it writes what it reads, and another group counts that."""
    application = msgspec.structs.replace(scenario.groups[0].application, writes="out")
    writer = msgspec.structs.replace(scenario.groups[0], application=application)
    topics = (*scenario.topics, TopicSpec("out", replication=1))
    groups = (writer, GroupSpec("audit", ("out",), config={**EARLIEST, "isolation.level": "read_committed"}))
    return converged(msgspec.structs.replace(scenario, topics=topics, groups=groups))


def test_a_writer_whose_ids_expire_for_ever_may_not_have_written_its_last_poll() -> None:
    """Seed 11258: the transaction of the last eleven records failed with INVALID_PRODUCER_ID_MAPPING."""
    reads, writes = (f'delivery.by_group["{name}"].delivered' for name in ("audit", "g"))
    all_written = f"{reads} + {reads}_unacknowledged == {writes} + {writes}_unacknowledged"
    assert all_written in audited(exactly_once(8_000))
    assert all_written not in audited(exactly_once(4_000))
    assert ONCE in audited(exactly_once(4_000))


def test_a_coordinator_that_forgets_ids_too_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    read = TransactionSettings.of
    hasty = staticmethod(lambda config: read(config)._replace(id_expiration_us=3_000_000))
    monkeypatch.setattr(TransactionSettings, "of", hasty)
    assert STABLE in converged(exactly_once(8_000))
    assert not becomes_stable(exactly_once(8_000))


@pytest.mark.parametrize("assignor", ["range", "sticky"])
def test_a_static_member_that_comes_back_with_another_subscription_makes_its_group_rebalance(assignor: str) -> None:
    """Seed 19971: its former share does not match, so it joins again, and its generation is news to the coordinator."""
    steps = [(10.0, "pause g-2"), (11.0, "subscribe g-2 to late"), (12.0, "kill g-2"), (13.0, "start g-2")]
    group = GroupSpec(
        "g",
        ("read",),
        members=2,
        stagger_us=200_000,
        static=True,
        config={"session.timeout.ms": 20_000, **EARLIEST},
        assignors=(assignor,),
    )
    scenario = ScenarioSpec(
        title="a former share",
        seed=1,
        until_us=60_000_000,
        brokers=(BrokerSpec(1),),
        config={"group.initial.rebalance.delay.ms": 500},
        topics=(TopicSpec("read", partitions=2, replication=1), TopicSpec("late", partitions=2, replication=1)),
        groups=(group,),
        steps=steps_at(*steps),
        expectations=(ExpectationSpec(that=f"{STABLE} && members['g-2'].owned.size() == 2", at_us=59_000_000),),
    )
    assert becomes_stable(scenario)


# --- a static member that comes back with more topics than its share is of --------------------------------------------

RETURNS = ("pause g-1", "subscribe g-1 to other,read", "kill g-1", "start g-1")
"""Its process ends before it has joined with the new subscription."""


def returning(*texts: str, static: bool = True, restart_after_us: int | None = None) -> ScenarioSpec:
    """A group of one that is given these commands, a second apart."""
    application = ApplicationSpec(restart_after_us=restart_after_us)
    group = GroupSpec(
        "g",
        ("other", "read"),
        static=static,
        subscriptions={"g-1": ("read",)},
        config=EARLIEST,
        application=application,
    )
    commands = [parse(text) for text in texts]
    steps = tuple(
        StepSpec((10 + place) * 1_000_000, command, text_of(command)) for place, command in enumerate(commands)
    )
    scenario = msgspec.structs.replace(
        spec(), brokers=(BrokerSpec(1),), groups=(group,), steps=steps, topics=(one_copy("read"), one_copy("other"))
    )
    producers = tuple(msgspec.structs.replace(each, limit=200) for each in scenario.producers)
    return msgspec.structs.replace(scenario, producers=producers)


def one_copy(name: str) -> TopicSpec:
    return TopicSpec(name, replication=1)


def converges(scenario: ScenarioSpec, *more: str) -> bool:
    """Whether all that is asked of it, and more, holds at its end."""
    asked = [ExpectationSpec(that=that, at_us=scenario.until_us) for that in (*converged(scenario), *more)]
    return becomes_stable(msgspec.structs.replace(scenario, expectations=tuple(asked)))


def test_a_static_member_that_comes_back_with_more_topics_keeps_its_former_share() -> None:
    """Seed 4280: no rebalance (GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin), and for ever."""
    scenario = returning(*RETURNS)
    assert {READ, COMMITTED}.isdisjoint(converged(scenario))
    assert converges(scenario, 'members["g-1"].owned.size() == 1', 'delivery.by_group["g"].unread == 200')


def test_a_member_that_comes_back_is_given_all_it_subscribes_to_unless_it_is_static() -> None:
    dynamic = returning(*RETURNS, static=False)
    assert {READ, COMMITTED} <= {*converged(dynamic)}
    assert converges(dynamic, 'members["g-1"].owned.size() == 2')


def test_a_static_member_that_lives_joins_with_its_new_subscription() -> None:
    lives = returning("subscribe g-1 to other,read", "kill broker-1", "start broker-1")
    assert {READ, COMMITTED} <= {*converged(lives)}
    assert converges(lives, 'members["g-1"].owned.size() == 2')


@pytest.mark.parametrize("end", ["stop g-1", "restart g-1", "scale g to 0", "rolling restart g every 2s down 1s"])
def test_whatever_ends_a_static_member_may_hide_its_subscription(end: str) -> None:
    assert READ in converged(returning(end))
    assert READ not in converged(returning("subscribe g-1 to other,read", end))


def test_an_application_that_starts_again_by_itself_may_hide_its_subscription() -> None:
    assert READ in converged(returning(restart_after_us=500_000))
    assert READ not in converged(returning("subscribe g-1 to other,read", restart_after_us=500_000))


def test_a_former_share_that_is_not_read_is_still_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetcher, "collect", lambda *_: [])
    assert not converges(returning(*RETURNS))


# --- a poll that failed, of a topic that the group has left since -----------------------------------------------------

AUDITED, WRITTEN = (
    f"{by}.delivered + {by}.delivered_unacknowledged" for by in ('delivery.by_group["audit"]', 'delivery.by_group["g"]')
)


def leaving(*texts: str, version: int = 2) -> ScenarioSpec:
    """A group that commits what it reads and writes in one transaction, and another that reads what it wrote."""
    application = ApplicationSpec(commit="transaction", writes="out", restart_after_us=3_000_000)
    config: dict[str, Value] = {**EARLIEST, "isolation.level": "read_committed"}
    scenario = returning(*texts, static=False)
    return msgspec.structs.replace(
        scenario,
        config={"transaction.version": version, "group.initial.rebalance.delay.ms": 0},
        topics=(one_copy("read"), one_copy("other"), one_copy("out")),
        groups=(
            GroupSpec("g", ("read",), config=EARLIEST, application=application),
            GroupSpec("audit", ("out",), config=config),
        ),
    )


LEAVES = ("subscribe g-1 to other", "subscribe g-1 to read")


def test_all_that_a_group_finished_is_written_where_it_reads_on() -> None:
    for version in (1, 2):
        assert f"{AUDITED} == {WRITTEN}" in converged(leaving("kill g-1", "start g-1", version=version))
    assert converges(leaving("kill g-1", "start g-1"))


def test_what_a_group_finished_of_a_topic_that_it_left_may_be_unwritten() -> None:
    """Seed 5629: its transactional id had expired under the first poll of the topic, and it never came back to that."""
    assert f"{AUDITED} == {WRITTEN}" not in converged(leaving(*LEAVES))
    assert f"{AUDITED} <= {WRITTEN}" in converged(leaving(*LEAVES))
    assert AUDITED not in " ".join(converged(leaving(*LEAVES, version=1)))  # a late EndTxn may commit a part
    expiring = leaving(*LEAVES)
    config = {
        **expiring.config,
        "transactional.id.expiration.ms": 4_000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 1_000,
    }
    idle = tuple(each for each in expiring.producers if each.topics == ("other",))
    expiring = msgspec.structs.replace(expiring, config=config, producers=idle)
    assert converges(expiring, f"{AUDITED} < {WRITTEN}")


def test_what_a_group_finished_of_records_that_were_deleted_may_be_unwritten() -> None:
    """Seed 40312: it was killed in a transaction, and the inputs were deleted before it came back."""
    deleting = leaving("kill g-1", "delete records read-0 before 3")
    assert f"{AUDITED} == {WRITTEN}" not in converged(deleting)
    assert f"{AUDITED} <= {WRITTEN}" in converged(deleting)
    elsewhere = leaving("kill g-1", "delete records other-0 before 3")
    assert f"{AUDITED} == {WRITTEN}" in converged(elsewhere)


@pytest.mark.parametrize("broken", ["g", "audit"])
def test_a_count_of_a_group_that_left_a_topic_is_still_caught(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More read than written, or less read than stands there."""
    counted = HANDLERS[e.RecordsProcessed]

    def deaf(view: ClusterView, event: e.RecordsProcessed) -> None:
        if event.group != broken:
            counted(view, event)

    handlers: dict[Any, Any] = HANDLERS
    monkeypatch.setitem(handlers, e.RecordsProcessed, deaf)
    assert not converges(leaving(*LEAVES))
