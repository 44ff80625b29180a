"""Lines of Kafka's logs word for word, one situation after the other, also those that few flights come to.

The texts are those of Kafka 4.3.1: GroupMetadataManager, AbstractCoordinator, ConsumerCoordinator, Partition.
"""

# ruff: noqa: E501 - log lines stand here as they are written
from collections.abc import Callable

import msgspec
import pytest

from cluster import events as e
from cluster.events import Event
from cluster.protocol import reasons
from recordings.kafka_log.renderer import RENDERERS, KafkaLog
from recordings.kafka_log.state import KafkaLogState
from tests.support.kafka_log_lines import AT, CLIENT, ID, OTHER, declared, lines_of, rebalance, state

Told = Callable[..., list[str]]


def join(*, newcomer: bool, member_id: str = ID) -> Event:
    return e.JoinReceived(
        group="billing",
        member="billing-1",
        member_id=member_id,
        newcomer=newcomer,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
    )


def removed(reason: str, client_reason: str = "", member_id: str = ID) -> Event:
    return e.MemberRemoved(
        group="billing", member="billing-1", member_id=member_id, reason=reason, client_reason=client_reason
    )


def completed(members: dict[str, str]) -> Event:
    return e.JoinBarrierCompleted(
        group="billing",
        generation=4,
        protocol="range",
        leader="billing-1",
        members=members,
        session_deadlines_us={},
        last_joined="",
        waited_us=0,
    )


def offered(member_id: str) -> Event:
    return e.MemberIdAssigned(group="billing", member="billing-1", member_id=member_id, broker=2)


def test_a_newcomer_is_let_in_before_the_group_rebalances_for_it() -> None:
    new = "billing-1-00000000-0000-0000-0000-000000000009"
    detail = f"Adding new member {new} with group instance id null; client reason: {reasons.given_member_id(new)}"
    assert lines_of(offered(new), rebalance(detail, new), join(newcomer=True, member_id=new)) == [
        (
            f"{AT}Dynamic member with unknown member id joins group billing in Stable state. Created a new member id {new}"
            " and requesting the member to rejoin with this id."
        ),
        f"{AT}Pending dynamic member with id {new} joins group billing in Stable state. Adding to the group now.",
        f"{AT}Preparing to rebalance group billing in state PreparingRebalance with old generation 3 (reason: {detail}).",
    ]


def test_a_newcomer_at_an_open_barrier() -> None:
    new = "billing-1-00000000-0000-0000-0000-000000000009"
    lines = lines_of(rebalance("whatever"), offered(new), join(newcomer=True, member_id=new), join(newcomer=False))
    assert lines[1:] == [
        (
            f"{AT}Dynamic member with unknown member id joins group billing in PreparingRebalance state. Created a new member"
            f" id {new} and requesting the member to rejoin with this id."
        ),
        (
            f"{AT}Pending dynamic member with id {new} joins group billing in PreparingRebalance state. Adding to the group"
            " now."
        ),
    ]


def test_a_static_newcomer_and_a_static_member_that_returns() -> None:
    detail = f"Adding new member {ID} with group instance id one; client reason: not provided"
    assert lines_of(rebalance(detail), join(newcomer=True), instance="one")[0] == (
        f"{AT}Static member with groupInstanceId=one and unknown member id joins group billing in Stable state. Created"
        f" a new member id {ID} for this member and added to the group."
    )
    back = e.StaticMemberReplaced(
        group="billing", member="billing-1", old_member_id=ID, member_id=OTHER, session_deadline_us=0, goes_on=True
    )
    assert lines_of(back, instance="one") == [
        (
            f"{AT}Static member with groupInstanceId=one and unknown member id joins group billing in Stable state. Replacing"
            f" previously mapped member {ID} with this groupInstanceId."
        ),
        (
            f"{AT}Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a"
            " rebalance."
        ),
    ]


def test_who_did_not_come_is_named_in_one_line_when_the_barrier_closes() -> None:
    lines = lines_of(
        rebalance("whatever"),
        removed("poll interval exceeded"),
        removed("poll interval exceeded", member_id=OTHER),
        completed({"x": "billing-3"}),
    )
    assert lines[1:] == [
        f"{AT}Group billing removed dynamic members who haven't joined: [{ID}, {OTHER}]",
        f"{AT}Stabilized group billing generation 4 with 1 members.",
    ]


def test_nobody_came() -> None:
    extended = e.JoinBarrierExtended(group="billing", closes_at_us=0, reason="nobody rejoined")
    assert lines_of(extended) == [f"{AT}Group billing could not complete rebalance because no members rejoined."]
    newcomers = e.JoinBarrierExtended(group="billing", closes_at_us=0, reason="newcomers")
    assert lines_of(newcomers) == []
    assert lines_of(completed({})) == [f"{AT}Group billing with generation 4 is now empty."]


GONE = [
    (removed("session expired"), f"Member {ID} in group billing has failed, removing it from the group."),
    (
        removed("member left", reasons.CLOSED),
        (
            f"[Group billing] Member {ID} has left group through explicit `LeaveGroup` request; client reason: the consumer"
            " is being closed"
        ),
    ),
    (
        removed("member left"),
        f"[Group billing] Member {ID} has left group through explicit `LeaveGroup` request; client reason: not provided",
    ),
    (
        removed("poll interval exceeded", reasons.POLL_TIMEOUT),
        (
            f"[Group billing] Member {ID} has left group through explicit `LeaveGroup` request; client reason: consumer poll"
            " timeout has expired."
        ),
    ),
]


@pytest.mark.parametrize(("event", "message"), GONE, ids=[message[:60] for _, message in GONE])
def test_members_that_go(event: Event, message: str) -> None:
    assert lines_of(event) == [AT + message]


def test_pending_members_that_go() -> None:
    new = "billing-1-00000000-0000-0000-0000-000000000009"
    assert lines_of(offered(new), removed("session expired", member_id=new))[1:] == [
        f"{AT}Pending member {new} in group billing has been removed after session timeout expiration."
    ]
    assert lines_of(offered(new), removed("member left", reasons.CLOSED, member_id=new))[1:] == [
        (
            f"{AT}[Group billing] Pending member {new} has left group through explicit `LeaveGroup` request; client reason:"
            " the consumer is being closed"
        )
    ]


def test_a_heartbeat_that_ends_a_generation_names_the_one_that_was_sent() -> None:
    """The group has gone on to generation 4 meanwhile: what was sent said 3."""
    lines = lines_of(
        completed({OTHER: "billing-2"}),
        state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "HEARTBEAT"), member_id=""),
        state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "HEARTBEAT"), member_id=""),
    )
    assert lines[1:] == [
        (
            f"{CLIENT}Attempt to heartbeat with Generation{{generationId=3, memberId='{ID}', protocol='range'}} and group"
            " instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, resetting generation"
        ),
        f"{CLIENT}Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
        f"{CLIENT}Request joining group due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
        f"{CLIENT}(Re-)joining group",
    ]


def test_a_sync_that_ends_a_generation() -> None:
    assert lines_of(state("Joining", reasons.encountered("ILLEGAL_GENERATION", "SYNC_GROUP"))) == [
        (
            f"{CLIENT}SyncGroup failed: Specified group generation id is not valid. Need to re-join the group. Sent"
            f" generation was Generation{{generationId=3, memberId='{ID}', protocol='range'}}"
        ),
        f"{CLIENT}Resetting generation due to: encountered ILLEGAL_GENERATION from SYNC_GROUP response",
        f"{CLIENT}Request joining group due to: encountered ILLEGAL_GENERATION from SYNC_GROUP response",
    ]


@pytest.mark.parametrize(
    ("error", "level", "said", "more"),
    [
        ("UNKNOWN_MEMBER_ID", "ERROR", "The coordinator is not aware of this member.", True),
        ("NOT_COORDINATOR", "WARN", "This is not the correct coordinator.", False),
        ("REBALANCE_IN_PROGRESS", "ERROR", "The group is rebalancing, so a rejoin is needed.", False),
    ],
)
def test_a_commit_that_is_refused(error: str, level: str, said: str, more: bool) -> None:
    refused = e.OffsetCommitRefused(
        group="billing", member="billing-1", generation=2, error=error, member_id=ID, offsets={"orders-0": 7}
    )
    lines = lines_of(refused)
    assert lines[0] == f"{CLIENT}Offset commit failed on partition orders-0 at offset 7: {said}"
    sent = f"Generation{{generationId=2, memberId='{ID}', protocol='range'}}"
    assert lines[1:] == ([f"{CLIENT}OffsetCommit failed with {sent}: {said}"] if more else [])
    written: list[str] = []
    log = KafkaLog(written.append)
    for event in [*declared(), refused]:
        log(event)
    assert f"] {level} {CLIENT}Offset commit failed" in written[-2 if more else -1]
    assert lines_of(e.MemberStopped(group="billing", member="billing-1", how="kill"), refused) == []


def test_a_commit_without_a_group_is_not_even_sent() -> None:
    refused = e.OffsetCommitRefused(group="billing", member="billing-1", generation=-1, error="CommitFailedException")
    assert lines_of(refused) == [
        f"{CLIENT}Failing OffsetCommit request since the consumer is not part of an active group"
    ]


def test_a_cooperative_member_hands_over_and_asks_for_the_next_round() -> None:
    group = declared()[2]
    assert isinstance(group, e.GroupDeclared)
    stable = e.GroupStabilized(group="billing", generation=4, assignment={ID: ("orders-1",)}, session_deadlines_us={})
    lines = lines_of(
        msgspec.structs.replace(group, assignors=("cooperative-sticky",)),
        e.PartitionsAssigned(group="billing", member="billing-1", generation=3, partitions=("orders-0", "orders-1")),
        completed({ID: "billing-1"}),
        stable,
        state("Syncing", generation=4),
        state("Stable", generation=4),
        state("Revoking", reasons.REVOKED, generation=4),
        e.PartitionsRevoked(group="billing", member="billing-1", partitions=("orders-0",), lost=False),
        state("Stable", generation=4),
        state("Joining", reasons.REVOKED, generation=4),
    )
    generation = f"Generation{{generationId=4, memberId='{ID}', protocol='range'}}"
    assert lines[4:] == [
        f"{CLIENT}Successfully synced group in generation {generation}",
        (
            f"{CLIENT}Updating assignment with\n"
            "\tAssigned partitions:                       [orders-1]\n"
            "\tCurrent owned partitions:                  [orders-0, orders-1]\n"
            "\tAdded partitions (assigned - owned):       []\n"
            "\tRevoked partitions (owned - assigned):     [orders-0]\n"
        ),
        f"{CLIENT}Revoke previously assigned partitions [orders-0]",
        (
            f"{CLIENT}Request joining group due to: need to revoke partitions [orders-0] as indicated by the current"
            " assignment and re-join"
        ),
        f"{CLIENT}(Re-)joining group",
    ]


def test_a_coordinator_that_is_lost() -> None:
    def lost(cause: str, *, disconnected: bool) -> Event:
        return e.CoordinatorLost(group="billing", member="billing-1", broker=2, cause=cause, disconnected=disconnected)

    node = "broker-2:9092 (id: 2147483645 rack: null isFenced: false)"
    assert lines_of(lost("error response NOT_COORDINATOR", disconnected=False)) == [
        (
            f"{CLIENT}Group coordinator {node} is unavailable or invalid due to cause: error response NOT_COORDINATOR."
            " isDisconnected: false. Rediscovery will be attempted."
        ),
        f"{CLIENT}Requesting disconnect from last known coordinator {node}",
    ]
    assert lines_of(lost("null", disconnected=True)) == [
        (
            f"{CLIENT}Group coordinator {node} is unavailable or invalid due to cause: null. isDisconnected: true."
            " Rediscovery will be attempted."
        )
    ]


def test_a_rebalance_that_failed_is_named_in_full() -> None:
    said = f"{reasons.REBALANCE_FAILED}NotCoordinatorException"
    assert lines_of(state("Joining", said))[0] == (
        f"{CLIENT}Request joining group due to: rebalance failed due to 'This is not the correct coordinator.'"
        " (NotCoordinatorException)"
    )
    assert lines_of(state("Joining", f"{reasons.REBALANCE_FAILED}DisconnectException"))[0].endswith(
        "rebalance failed due to 'null' (DisconnectException)"
    )


def test_leaving_is_said_before_the_coordinator_hears_of_it() -> None:
    assert lines_of(state("Left", "max.poll.interval.ms passed without poll()", member_id="")) == [
        (
            f"{CLIENT}consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer"
            " than the configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time"
            " processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the maximum"
            " size of batches returned in poll() with max.poll.records."
        ),
        (
            f"{CLIENT}Member {ID} sending LeaveGroup request to coordinator broker-2:9092 (id: 2147483645 rack: null isFenced: false) due to"
            " consumer poll timeout has expired."
        ),
        f"{CLIENT}Resetting generation and member id due to: consumer pro-actively leaving the group",
        f"{CLIENT}Request joining group due to: consumer pro-actively leaving the group",
    ]
    static = lines_of(state("Left", "", member_id=""), instance="one")
    assert not any("LeaveGroup" in line for line in static)
    assert static[0].startswith("[Consumer instanceId=one, clientId=billing-1, groupId=billing] Resetting")


@pytest.mark.parametrize(
    ("reset", "diverging", "line"),
    [
        ("latest", 3, "INFO resetting offset to the first offset known to diverge {diverging}"),
        ("latest", -1, "INFO resetting offset"),
        ("none", -1, "WARN but no reset policy is set"),
    ],
)
def test_a_truncation_under_a_consumer(reset: str, diverging: int, line: str) -> None:
    found = e.PositionTruncated(
        group="billing", member="billing-1", partition="orders-0", position=5, offset_epoch=2, leader_epoch=0,
        diverging=diverging, diverging_epoch=min(diverging, 1), reset=reset,
    )  # fmt: skip
    level, _, rest = line.format(diverging=fetch_position(3, 1)).partition(" ")
    begin = f"{CLIENT}Truncation detected for partition orders-0 at offset {fetch_position(5, 2)}, "
    assert lines_of(found) == [begin + rest]
    (renderer,) = RENDERERS[e.PositionTruncated]
    (written,) = renderer(KafkaLogState(), found)
    assert written.level == level
    assert written.logger.endswith(".SubscriptionState")
    follows = e.PositionsReset(group="billing", member="billing-1", positions={"orders-0": 3}, reason="truncated")
    assert lines_of(found, follows) == lines_of(found)


def test_a_truncation_without_a_policy_names_the_end_offset() -> None:
    found = e.PositionTruncated(
        group="billing", member="billing-1", partition="orders-0", position=5, offset_epoch=2, leader_epoch=0,
        diverging=3, diverging_epoch=1, reset="none",
    )  # fmt: skip
    end = "OffsetAndMetadata{offset=3, leaderEpoch=1, metadata=''}"
    where = f"orders-0 at offset {fetch_position(5, 2)} (the end offset from the broker is {end})"
    assert lines_of(found) == [f"{CLIENT}Truncation detected for partition {where}, but no reset policy is set"]


def fetch_position(offset: int, epoch: int) -> str:
    leader = "LeaderAndEpoch{leader=Optional[broker-1:9092 (id: 1 rack: null isFenced: false)], epoch=0}"
    return f"FetchPosition{{offset={offset}, offsetEpoch=Optional[{epoch}], currentLeader={leader}}}"


def test_where_reading_begins() -> None:
    given = e.PartitionsAssigned(group="billing", member="billing-1", generation=3, partitions=("orders-0",))
    reset = e.PositionsReset(group="billing", member="billing-1", positions={"orders-0": 5}, reason="latest")
    committed = e.PositionsReset(group="billing", member="billing-1", positions={"orders-0": 4}, reason="committed")
    position = (
        "FetchPosition{offset=5, offsetEpoch=Optional.empty, currentLeader=LeaderAndEpoch{leader=Optional[broker-1:9092"
        " (id: 1 rack: null isFenced: false)], epoch=0}}"
    )
    gone = e.PositionOutOfRange(group="billing", member="billing-1", partition="orders-0", position=5, reset="latest")
    assert lines_of(given, reset, gone, reset) == [
        f"{CLIENT}Notifying assignor about the new Assignment(partitions=[orders-0])",
        f"{CLIENT}Adding newly assigned partitions: [orders-0]",
        f"{CLIENT}Found no committed offset for partition orders-0",
        f"{CLIENT}Resetting offset for partition orders-0 to position {position}.",
        f"{CLIENT}Fetch position {position} is out of range for partition orders-0, resetting offset",
        f"{CLIENT}Resetting offset for partition orders-0 to position {position}.",
    ]
    strict = e.PositionOutOfRange(group="billing", member="billing-1", partition="orders-0", position=5, reset="none")
    assert lines_of(strict) == [
        (
            f"{CLIENT}Fetch position {position} is out of range for partition orders-0,"
            " raising error to the application since no reset policy is configured"
        )
    ]
    assert lines_of(given, committed)[2:] == [
        f"Setting offset for partition orders-0 to the committed offset {position.replace('=5', '=4')}"
    ]


def test_in_sync_replicas_by_leader_and_by_controller() -> None:
    def changed(isr: tuple[int, ...], reason: str, partition: str = "orders-0") -> Event:
        return e.IsrChanged(partition=partition, isr=isr, reason=reason)

    slow = changed((1, 2), "shrink: not caught up within replica.lag.time.max.ms")
    assert lines_of(slow) == [
        (
            "[Partition orders-0 broker=1] Shrinking ISR from 1,2,3 to 1,2. Leader: (highWatermark: 0, endOffset: 0). Out of"
            " sync replicas: (brokerId: 3)."
        ),
        "[QuorumController id=-1] partition change for orders-0: isr: [1, 2, 3] -> [1, 2], partitionEpoch: 0 -> 1",
        "[Partition orders-0 broker=1] ISR updated to 1,2  and version updated to 1",
    ]
    alone = lines_of(changed((1,), "shrink: not caught up within replica.lag.time.max.ms"))[-1]
    assert alone == "[Partition orders-0 broker=1] ISR updated to 1 (under-min-isr) and version updated to 1"
    fenced = lines_of(changed((1, 3), "shrink: broker-2 broker fenced"))
    assert not any("Shrinking" in line or "[Partition" in line for line in fenced)
    assert fenced[-1].startswith(
        "[Broker id=1] Skipped the become-leader state change for orders-0 since it is already"
    )
    assert lines_of(changed((1, 3), "shrink: broker-2 broker fenced", "__consumer_offsets-8")) == []
    assert lines_of(changed((1, 3), "shrink: broker-2 broker fenced", "__consumer_offsets-9"))


def test_a_transactional_id_begins_and_is_aborted_for_its_age() -> None:
    def stands(state: str, epoch: int) -> Event:
        return e.TransactionStateChanged(
            transactional_id="pay-1",
            broker=2,
            state=state,
            producer_id=7,
            epoch=epoch,
            timeout_ms=60_000,
            start_us=0,
            partitions=(),
        )

    def fenced(reason: str) -> Event:
        return e.TransactionFenced(transactional_id="pay-1", broker=2, producer_id=7, epoch=1, reason=reason)

    at = "[TransactionCoordinator id=2] "
    topic = e.TopicCreated(
        topic="__transaction_state", partitions=1, replication_factor=3, min_insync_replicas=2, internal=True
    )
    begun = f"{at}Initialized transactionalId pay-1 with producerId 7 and producer epoch 0 on partition __transaction_state-0"
    assert lines_of(topic, stands("Empty", 0)) == [begun]
    aborted = f"{at}Completed rollback of ongoing transaction for transactionalId pay-1 due to timeout"
    assert lines_of(stands("Ongoing", 0), fenced("timeout"), stands("PrepareAbort", 2), stands("PrepareAbort", 2)) == [
        aborted
    ]
    assert lines_of(stands("Ongoing", 0), fenced("InitProducerId"), stands("PrepareAbort", 2)) == []


def test_elections_and_truncation() -> None:
    unclean = e.LeaderElected(
        partition="orders-0", leader=3, leader_epoch=2, replicas=(1, 2, 3), isr=(3,), reason="unclean"
    )
    written: list[str] = []
    log = KafkaLog(written.append)
    for event in [*declared(), unclean]:
        log(event)
    assert (
        "] INFO [QuorumController id=-1] UNCLEAN partition change for orders-0: isr: [1, 2, 3] -> [3], " in written[-1]
    )
    added = e.LeaderElected(
        partition="orders-1", leader=2, leader_epoch=0, replicas=(2, 3), isr=(2, 3), reason="created", at_us=7
    )
    assert lines_of(added) == [
        (
            "[QuorumController id=-1] Replayed PartitionRecord for new partition orders-1 and PartitionRegistration("
            "replicas=[2, 3], isr=[2, 3], leader=2, leaderEpoch=0, partitionEpoch=0)."
        )
    ]
    taken = e.LeadershipTaken(
        partition="orders-0", broker=3, leader_epoch=2, log_start=0, high_watermark=4, log_end=9, bytes=0, at_us=1
    )
    assert lines_of(unclean, taken)[-1] == (
        "[Broker id=3] Leader orders-0 starts at leader epoch 2 from offset 9 with partition epoch 1, high watermark 4,"
        " ISR [3], adding replicas [] and removing replicas [] (under-min-isr). Previous leader Some(1) and previous"
        " leader epoch was 0."
    )
    truncated = e.LogTruncated(partition="orders-0", broker=1, offset=4, log_end=9)
    assert lines_of(truncated) == ["[UnifiedLog partition=orders-0, dir=/broker-1] Truncating to offset 4"]
