"""The judges of flights, judged: each breaks one rule of the cluster on purpose and sees that a judge notices."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

import cluster.event_pipeline
from cluster import events as e
from cluster.assignors import ASSIGNORS
from cluster.broker.replica import Replica
from cluster.clients.consumer.consumer_coordinator import ConsumerCoordinator
from cluster.clients.consumer.fetcher import Fetcher
from cluster.clients.consumer.offset_commits import OffsetCommits
from cluster.config import Value
from cluster.coordinators.decision import Call, Decision
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.coordinators.group.context import GroupContext
from cluster.network import connection
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatRequest, HeartbeatResponse
from cluster.spec import (
    ApplicationSpec,
    CommitPolicy,
    GroupSpec,
    ProducerSpec,
    ScenarioSpec,
    TopicSpec,
)
from cluster.storage.producer_state import ProducerStates
from cluster.view import fold
from tests.support.random_flights import fly
from tests.support.scenario_builders import THREE_BROKERS, steps_at

SECOND_US = 1_000_000
DEPOSED = (  # broker-1 leads on alone for two seconds, dies, and comes back when others have gone on without it
    (10, "cut broker-1 broker-2"),
    (10, "cut broker-1 broker-3"),
    (12, "kill broker-1"),
    (29, "heal"),
    (30, "start broker-1"),
)


def spec(
    *steps: tuple[float, str], until_s: int = 60, partitions: int = 1, commit: CommitPolicy = "auto"
) -> ScenarioSpec:
    """Three brokers, a producer until 40 s, two members; broker-1 leads orders-0."""
    done = steps_at(*steps, (40, "stop p-1"))
    return ScenarioSpec(
        title="broken on purpose",
        until_us=until_s * SECOND_US,
        brokers=THREE_BROKERS,
        config={"offsets.topic.num.partitions": 1},
        topics=(TopicSpec("orders", partitions=partitions),),
        producers=(
            ProducerSpec(
                "p",
                ("orders",),
                rate_per_second=20.0,
                config={"linger.ms": 0, "request.timeout.ms": 1_000, "delivery.timeout.ms": 90_000, "batch.size": 500},
            ),
        ),
        groups=(
            GroupSpec(
                "g",
                ("orders",),
                members=2,
                config={"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, "auto.offset.reset": "earliest"},
                application=ApplicationSpec(commit=commit),
            ),
        ),
        steps=tuple(sorted(done, key=lambda step: step.at_us)),
    )


def caught(broken: ScenarioSpec, words: str) -> bool:
    """Whether a judge says these words about the flight."""
    return any(words in said for _, said in fly(broken, 1, patient=True).wrong)


@pytest.mark.parametrize("steps", [(), DEPOSED])
def test_nobody_complains_about_a_sound_cluster(steps: tuple[tuple[float, str], ...]) -> None:
    fly(spec(*steps), 1).check()


def test_acknowledging_before_the_high_watermark_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "when_committed", lambda _, __, committed: committed(ErrorCode.NONE))
    assert caught(spec(*DEPOSED), "acknowledged records are gone")


def test_a_follower_that_acknowledges_what_it_did_not_append_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def pretends(replica: Replica, data: tuple[int, Any, int, int]) -> None:
        session, batches, _, _ = data
        end = batches[-1].next_offset if batches else replica.log.log_end
        assert replica.source is not None
        replica.host.link_to(replica.metadata.leader).send(
            replica.source.follower_fetched, (replica.host.id, session, replica.metadata.leader_epoch, end)
        )

    monkeypatch.setattr(Replica, "replicated", pretends)
    assert caught(spec(until_s=45), "orders-0: log ends")


def test_a_follower_that_keeps_what_its_new_leader_never_had_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    truncate = Replica.truncate

    def keeps(replica: Replica, answer: tuple[int, Any]) -> None:
        if answer[0] != replica.session.number or answer[1] is None or not replica.partition.startswith("orders"):
            truncate(replica, answer)
        else:
            replica._fetch()

    monkeypatch.setattr(Replica, "truncate", keeps)
    assert caught(spec(*DEPOSED), "orders-0: committed batch")


def test_a_high_watermark_above_the_log_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Replica.advance

    def overshoots(replica: Replica) -> None:
        advance(replica)
        if replica.partition == "orders-0" and replica.host.now_us > 20 * SECOND_US:
            replica.high_watermark = replica.log.log_end + 1

    monkeypatch.setattr(Replica, "advance", overshoots)
    assert caught(spec(until_s=22), "high watermark")


def test_a_leader_that_does_not_know_repetitions_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProducerStates, "check", lambda _, __: (ErrorCode.NONE, -1))
    assert caught(spec((10, "cut broker-1 -> p-1 for 3s"), until_s=20), "is in the log twice")


def test_a_partition_with_two_owners_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    class Generous:
        name = "range"

        @staticmethod
        def assign(counts: dict[str, int], subscriptions: dict[str, Any]) -> dict[str, list[str]]:
            everything = [f"{topic}-{number}" for topic, count in counts.items() for number in range(count)]
            return {member: list(everything) for member in subscriptions}

    monkeypatch.setitem(ASSIGNORS, "range", Generous)
    flown = fly(spec(until_s=10), 1, patient=True).wrong
    assert any("is owned by g-1 and g-2 in generation 1" in said for _, said in flown)
    assert any("g dealt orders-0 twice" in said for _, said in flown)


def test_heartbeats_accepted_from_members_that_are_gone_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    heartbeat = group_coordinator.HANDLERS[HeartbeatRequest]

    def lenient(context: GroupContext, request: HeartbeatRequest, call: Call, now_us: int) -> Decision:
        decision = heartbeat(context, request, call, now_us)
        accepted = HeartbeatResponse(ErrorCode.NONE)
        gone = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
        replies = [
            (one, accepted if isinstance(answer, HeartbeatResponse) and answer.error in gone else answer)
            for one, answer in decision.replies
        ]
        return msgspec.structs.replace(decision, replies=replies)

    handlers: dict[Any, Any] = group_coordinator.HANDLERS
    monkeypatch.setitem(handlers, HeartbeatRequest, lenient)
    assert caught(spec((10, "pause g-2 for 10s"), commit="never"), "g-2 is 0 times in g")


def test_a_leader_that_lets_no_follower_back_in_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replica, "admit_followers", lambda *_: None)
    assert caught(spec((10, "kill broker-2 for 12s")), "isr (")


def test_a_consumer_whose_parked_fetch_is_never_renewed_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection.InFlightRequest, "hurry", lambda *_: None)
    assert caught(spec((36, "kill g-2"), partitions=4), "g-1 is at ")


def test_a_consumer_that_skips_records_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assign = Fetcher.assign

    def behind(fetcher: Fetcher, found: dict[str, int], *epochs: Mapping[str, int]) -> None:
        assign(fetcher, {name: at + 3 for name, at in found.items()}, *epochs)

    monkeypatch.setattr(Fetcher, "assign", behind)
    assert caught(spec((10, "kill g-1 for 8s")), "acknowledged records of orders-0")


def slow_application(max_poll_records: int) -> ScenarioSpec:
    """From 30 s on each record takes a second, and poll() is due every five."""
    flown = spec((30, "slow g-1 to 1s"), (30, "slow g-2 to 1s"))
    group = flown.groups[0]
    config: dict[str, Value] = {"max.poll.interval.ms": 5_000, "max.poll.records": max_poll_records}
    return msgspec.structs.replace(flown, groups=(msgspec.structs.replace(group, config=group.config | config),))


def test_nobody_complains_about_a_group_whose_members_are_all_too_slow_for_their_poll_interval() -> None:
    landed = fly(slow_application(500), 1)
    assert landed.document["groups"]["g"]["state"] == "Empty"
    landed.check()


def test_a_member_that_left_for_its_slow_poll_and_never_joins_again_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    leave = ConsumerCoordinator.leave_for_slow_poll

    def for_good(membership: ConsumerCoordinator) -> None:
        leave(membership)
        membership._consumer.give_up(membership._consumer.owned, lost=True)
        membership.fenced = True

    monkeypatch.setattr(ConsumerCoordinator, "leave_for_slow_poll", for_good)
    assert caught(slow_application(8), "g is Empty with []")


@pytest.mark.slow
def test_only_a_commit_async_that_failed_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [(38, f"slow g-{number} broker-2 to 700ms for 9s") for number in (1, 2)]  # broker-2 coordinates g
    landed = fly(spec(*slow, (40.3, "kill broker-2 for 20s"), until_s=90, commit="async"), 1)
    landed.check()
    assert landed.document["groups"]["g"]["lag"] > 0
    send = OffsetCommits.send
    monkeypatch.setattr(
        OffsetCommits, "send", lambda commits: commits._consumer.timeline.now_us < 30 * SECOND_US and send(commits)
    )
    assert caught(spec(commit="async"), "g has committed")


@pytest.mark.parametrize(
    ("untold", "words"),
    [
        (e.BrokerStopped, "brokers.2.up"),
        (e.LeaderElected, "partitions.orders-1.leader"),
        (e.IsrChanged, "partitions.orders-0.isr"),
        (e.HighWatermarkAdvanced, "partitions.orders-0.high_watermark"),
        (e.RecordsAppended, "partitions.orders-0.log_end"),
        (e.BatchAcknowledged, "producers.p-1.acked"),
        (e.MemberRemoved, "groups.g.members"),
        (e.JoinBarrierCompleted, "groups.g.generation"),
        (e.HeartbeatAnswered, "members.g-1.heartbeat_age_ms"),
        (e.OffsetsCommitted, "groups.g.committed"),
        (e.RecordsProcessed, "delivery.by_group.g.delivered"),
        (e.PartitionsAssigned, "members.g-1.owned"),
    ],
)
def test_an_event_that_is_not_told_is_caught(
    untold: type[e.Event], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forgetful(view: Any, event: e.Event) -> None:  # noqa: ANN401
        if not isinstance(event, untold) or event.at_us == 0:
            fold(view, event)

    monkeypatch.setattr(cluster.event_pipeline, "fold", forgetful)
    assert caught(
        spec((10, "kill broker-2"), (11, "kill g-2"), (20, "stall g-1 for 9s"), until_s=30, partitions=3), words
    )
