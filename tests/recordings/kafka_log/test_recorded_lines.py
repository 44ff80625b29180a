"""Lines of Kafka's logs, word for word, that recordings of a real 4.1.0 and 4.3.1 have and Flightdeck had otherwise."""

# ruff: noqa: E501 - log lines stand here as they are written

import msgspec
import pytest

from cluster import events as e
from cluster.events import Event
from cluster.protocol import reasons
from tests.support.kafka_log_lines import AT, CLIENT, ID, OTHER, lines_of, rebalance, state


def beat(error: str, member_id: str = ID) -> Event:
    return e.HeartbeatAnswered(
        group="billing", member="billing-1", member_id=member_id, error=error, session_deadline_us=-1
    )


def test_every_refused_heartbeat_asks_for_a_rejoin_until_joingroup_is_sent() -> None:
    asks = f"{CLIENT}Request joining group due to: group is already rebalancing"
    rejoins = state("Joining", reasons.ALREADY_REBALANCING, generation=3)
    refused = beat("REBALANCE_IN_PROGRESS")
    assert lines_of(refused, refused, rejoins, refused) == [asks, asks, f"{CLIENT}(Re-)joining group"]


def test_a_heartbeat_of_a_former_self_is_ignored() -> None:
    gone = state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "HEARTBEAT"), member_id="")
    new = state("Joining", member_id=OTHER)
    assert lines_of(gone, new, beat("UNKNOWN_MEMBER_ID"))[-1] == (
        f"{CLIENT}Attempt to heartbeat with stale Generation{{generationId=3, memberId='{ID}', protocol='range'}} and group"
        " instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, ignoring the error"
    )


def test_a_member_that_left_does_not_ask_again_when_it_rejoins() -> None:
    left = state("Left", "max.poll.interval.ms passed without poll()", member_id="")
    lines = lines_of(left, state("Joining", reasons.LEAVING, member_id=""))
    asks = f"{CLIENT}Request joining group due to: consumer pro-actively leaving the group"
    assert lines.count(asks) == 1
    assert lines[-1] == f"{CLIENT}(Re-)joining group"


def test_a_fenced_static_member_and_what_its_coordinator_says() -> None:
    client = "[Consumer instanceId=cashier, clientId=billing-1, groupId=billing] "
    replaced = e.StaticMemberReplaced(
        group="billing", member="billing-2", old_member_id=ID, member_id=OTHER, session_deadline_us=0,
        goes_on=True, leader="billing-2",
    )  # fmt: skip
    twin = e.MemberDeclared(
        group="billing", member="billing-2", instance_id="cashier", topics=("orders",), session_timeout_ms=1,
        heartbeat_interval_ms=1, max_poll_interval_ms=1,
    )  # fmt: skip
    fenced = state("Fenced", "FENCED_INSTANCE_ID")
    lines = lines_of(twin, replaced, beat("FENCED_INSTANCE_ID"), fenced, instance="cashier")[2:]
    reason = "encountered FENCED_INSTANCE_ID from HEARTBEAT response"
    assert lines == [
        (
            f"{AT}Request memberId={ID} for static member with groupInstanceId=cashier is fenced by existing memberId={OTHER}"
            " during operation heartbeat"
        ),
        (
            f"{client}Attempt to heartbeat with Generation{{generationId=3, memberId='{ID}', protocol='range'}} and group"
            " instance id Optional[cashier] failed due to FENCED_INSTANCE_ID, resetting generation"
        ),
        f"{client}Resetting generation and member id due to: {reason}",
        f"{client}Request joining group due to: {reason}",
    ]


def test_a_static_leader_that_returns_assigns_nothing() -> None:
    stable = e.GroupStabilized(group="billing", generation=3, assignment={ID: ("orders-0",)}, session_deadlines_us={})
    assert lines_of(stable, e.SyncReceived(group="billing", member="billing-1", member_id=ID, leader=True)) == [
        (
            f"{CLIENT}Skipped assignment for returning static leader at generation 3. The static leader will continue with its"
            " existing assignment."
        )
    ]


def test_the_sticky_assignor_says_what_it_assigned() -> None:
    sticky = e.JoinBarrierCompleted(
        group="billing", generation=4, protocol="sticky", leader="billing-1", members={ID: "billing-1"},
        session_deadlines_us={}, last_joined="", waited_us=0,
    )  # fmt: skip
    share = e.AssignmentMade(
        group="billing", member="billing-1", generation=4, assignments={ID: ("orders-0", "orders-1")}
    )
    assert lines_of(rebalance("any"), sticky, share)[2] == (
        f"Final assignment of partitions to consumers: \n{{{ID}=[orders-0, orders-1]}}"
    )


def test_what_has_changed_is_said_in_full() -> None:
    wants = e.SubscriptionChanged(group="billing", member="billing-1", topics=("orders", "payments"))
    again = state("Revoking", reasons.SUBSCRIPTION_CHANGED, generation=3)
    assert lines_of(state("Joining"), wants, again)[-1] == (
        f"{CLIENT}Request joining group due to: subscription has changed from [orders] at the beginning of the rebalance to"
        " [orders, payments]"
    )
    share = e.AssignmentMade(group="billing", member="billing-1", generation=4, assignments={ID: ()})
    more = e.PartitionsAdded(topic="orders", partitions=2)
    again = state("Revoking", reasons.METADATA_CHANGED, generation=3)
    assert lines_of(rebalance("any"), share, more, again)[-1] == (
        f"{CLIENT}Request joining group due to: cached metadata has changed from ({{orders=[NO_RACKS]}}) at the beginning of"
        " the rebalance to ({orders=[NO_RACKS, NO_RACKS]})"
    )


def test_the_isr_that_a_leader_sends_comes_by_number() -> None:
    away = e.IsrChanged(partition="orders-0", isr=(2, 3), reason="shrink: not caught up")
    back = e.IsrChanged(partition="orders-0", isr=(1, 2, 3), reason="expand: broker-1 caught up")
    assert lines_of(away, back)[-1].startswith("[Partition orders-0 broker=1] ISR updated to 1,2,3 ")


@pytest.mark.parametrize("of", ["transaction", "group"])
def test_a_transactional_producer_says_which_coordinators_it_has_found(of: str) -> None:
    declared = e.ProducerDeclared(producer="pay-1", topics=("orders",), rate_per_second=1.0, transactional_id="pay")
    assert lines_of(declared, e.ProducerCoordinatorFound(producer="pay-1", of=of, broker=2)) == [
        (
            f"[Producer clientId=pay-1, transactionalId=pay] Discovered {of} coordinator broker-2:9092 (id: 2 rack: null"
            " isFenced: false)"
        )
    ]


def test_a_transactional_producer_says_its_id_once_and_why_it_cannot_go_on() -> None:
    client = "[Producer clientId=pay-1, transactionalId=pay] "
    declared = e.ProducerDeclared(producer="pay-1", topics=("orders",), rate_per_second=1.0, transactional_id="pay")

    def given(epoch: int) -> Event:
        return e.ProducerIdAssigned(producer="pay-1", producer_id=7, epoch=epoch)

    def moved(to: str, epoch: int) -> Event:
        return e.TransactionStateChanged(
            transactional_id="pay", broker=1, state=to, producer_id=7, epoch=epoch, timeout_ms=1, start_us=0,
            partitions=(), loaded=False,
        )  # fmt: skip

    def failed(error: str) -> Event:
        return e.BatchFailed(producer="pay-1", partition="orders-0", records=1, freed_bytes=1, error=error, sent=True)

    known = f"{client}ProducerId set to 7 with epoch"
    under_2 = [declared, given(0), moved("Ongoing", 0), moved("PrepareCommit", 1), given(1)]
    assert lines_of(*under_2) == [f"{known} 0"]
    under_1 = [declared, given(0), moved("Ongoing", 0), moved("PrepareCommit", 0), given(1)]
    assert lines_of(*under_1) == [f"{known} 0", f"{known} 1"]
    fenced = e.ProducerStateChanged(producer="pay-1", state="Fenced", reason="PRODUCER_FENCED")
    errors = "org.apache.kafka.common.errors"
    old = failed("INVALID_PRODUCER_EPOCH")
    assert lines_of(declared, old, failed("TransactionAbortedException"), fenced) == [
        (
            f"{client}Transiting to abortable error state due to {errors}.InvalidProducerEpochException: Producer attempted to"
            " produce with an old epoch."
        ),
        (
            f"{client}Transiting to fatal error state due to {errors}.ProducerFencedException: There is a newer producer with the"
            " same transactionalId which fences the current one."
        ),
    ]


def test_a_position_has_the_leader_epoch_of_the_record_before_it() -> None:
    """And a commit that of the position; what nothing was read before has none."""
    assigned = e.PartitionsAssigned(
        group="billing", member="billing-1", generation=3, partitions=("orders-0", "orders-1")
    )

    def appended(base_offset: int, leader_epoch: int) -> Event:
        return e.RecordsAppended(
            partition="orders-0", base_offset=base_offset, count=5, bytes=1, producer="pay-1", producer_id=1, epoch=0,
            base_sequence=0, first_serial=0, leader_epoch=leader_epoch,
        )  # fmt: skip

    def reset(offset: int, reason: str) -> Event:
        return e.PositionsReset(group="billing", member="billing-1", positions={"orders-0": offset}, reason=reason)

    def committed(offset: int) -> Event:
        return e.OffsetsCommitted(
            group="billing", member="billing-1", generation=3, offsets={"orders-0": offset}, session_deadline_us=0
        )

    log = [appended(0, 3), appended(5, 4), reset(2, "earliest")]

    def epochs(*happens: Event) -> list[str]:
        return [line.partition("offsetEpoch=")[2].partition(",")[0] for line in lines_of(*log, *happens)[1:]]

    assert epochs(committed(5), reset(5, "committed")) == ["Optional[3]"]
    assert epochs(committed(6), reset(6, "committed")) == ["Optional[4]"]
    assert epochs(committed(2), reset(2, "committed")) == ["Optional.empty"]
    said = lines_of(assigned, reset(0, "committed"))[2:]
    assert said[0] == f"{CLIENT}Found no committed offset for partition orders-1"
    assert said[1].startswith("Setting offset for partition orders-0")


def test_an_application_in_transactions_subscribes_when_it_is_initialised() -> None:
    declared = e.ProducerDeclared(producer="billing-1", topics=(), rate_per_second=0.0, transactional_id="bill")
    started = e.MemberStarted(group="billing", member="billing-1")
    running = e.ProducerStateChanged(producer="billing-1", state="Running", reason="started")
    given = e.ProducerIdAssigned(producer="billing-1", producer_id=7, epoch=0)
    client = "[Producer clientId=billing-1, transactionalId=bill] "
    assert lines_of(declared, started, running, given, given) == [
        f"{client}Invoking InitProducerId for the first time in order to acquire a producer ID",
        f"{client}ProducerId set to 7 with epoch 0",
        f"{CLIENT}Subscribed to topic(s): orders",
        f"{client}ProducerId set to 7 with epoch 0",
    ]


def test_each_send_of_an_old_epoch_says_so() -> None:
    declared = e.ProducerDeclared(producer="pay-1", topics=("orders",), rate_per_second=1.0, transactional_id="pay")
    given = e.ProducerIdAssigned(producer="pay-1", producer_id=7, epoch=4)
    vain = e.SendRefused(
        producer="pay-1", topic="orders", records=1, waited_for="", error="InvalidProducerEpochException"
    )
    assert lines_of(declared, given, vain)[1].endswith(
        "InvalidProducerEpochException: Producer with transactionalId 'pay' and (producerId=7, epoch=4) attempted to"
        " produce with an old epoch"
    )
    assert lines_of(declared, given, msgspec.structs.replace(vain, error="RecordTooLargeException"))[1:] == []


def test_a_full_group_and_the_close_of_a_fenced_member() -> None:
    full = e.ApplicationFailed(group="billing", member="billing-1", reason="GROUP_MAX_SIZE_REACHED")
    assert lines_of(full) == [
        f"{CLIENT}JoinGroup failed due to fatal error: The group has reached its maximum size.",
        (
            f"{CLIENT}Request joining group due to: rebalance failed due to 'Consumer group billing already has the"
            " configured maximum number of members.' (GroupMaxSizeReachedException)"
        ),
        f"{CLIENT}Resetting generation and member id due to: consumer pro-actively leaving the group",
        f"{CLIENT}Request joining group due to: consumer pro-actively leaving the group",
    ]
    lost = e.PartitionsRevoked(group="billing", member="billing-1", partitions=("orders-0",), lost=True)
    assert lines_of(lost)[0].startswith(f"{CLIENT}Giving away all")
    assert (
        lines_of(state("Fenced", "FENCED_INSTANCE_ID"), lost)[-1]
        == f"{CLIENT}Lost previously assigned partitions [orders-0]"
    )
    assert not any("Giving away" in line for line in lines_of(state("Fenced", "FENCED_INSTANCE_ID"), lost))


def lost(cause: str, *, disconnected: bool = False) -> Event:
    return e.CoordinatorLost(group="billing", member="billing-1", broker=2, cause=cause, disconnected=disconnected)


def test_a_joingroup_that_no_coordinator_takes_says_so_at_once_and_once() -> None:
    """poll() still waits for its answer; it joins again when the connection may be made again."""
    failed = reasons.rebalance_failed("DISCONNECT")
    asks = f"{CLIENT}Request joining group due to: rebalance failed due to 'null' (DisconnectException)"
    joins = f"{CLIENT}(Re-)joining group"
    lines = lines_of(state("Joining"), lost("null", disconnected=True), state("Joining", failed))
    assert [line for line in lines if "join" in line][-3:] == [joins, asks, joins]


def test_a_joingroup_that_lies_at_its_coordinator_says_so_when_it_joins_again() -> None:
    """By then poll() has returned: the next one looks for a coordinator first."""
    failed = reasons.rebalance_failed("DISCONNECT")
    parked = e.JoinReceived(
        group="billing", member="billing-1", member_id=ID, newcomer=False, session_timeout_ms=1, rebalance_timeout_ms=1,
    )  # fmt: skip
    found = e.CoordinatorFound(group="billing", member="billing-1", broker=3)
    lines = lines_of(state("Joining"), parked, lost("null", disconnected=True), found, state("Joining", failed))
    assert "Discovered" in lines[-3]
    assert lines[-2:] == [
        f"{CLIENT}Request joining group due to: rebalance failed due to 'null' (DisconnectException)",
        f"{CLIENT}(Re-)joining group",
    ]


@pytest.mark.parametrize(("waits", "api"), [("Joining", "JoinGroup"), ("Syncing", "SyncGroup")])
def test_who_is_no_coordinator_any_more_fails_a_join(waits: str, api: str) -> None:
    assert lines_of(state(waits, generation=3), lost("error response NOT_COORDINATOR"))[-1] == (
        f"{CLIENT}{api} failed: This is not the correct coordinator. Marking coordinator unknown. Sent generation was"
        f" Generation{{generationId=3, memberId='{ID}', protocol='range'}}"
    )
    assert "failed" not in lines_of(state("Stable"), lost("error response NOT_COORDINATOR"))[-1]


def test_a_coordinator_that_still_loads_fails_a_join() -> None:
    loads = state("Joining", reasons.rebalance_failed("COORDINATOR_LOAD_IN_PROGRESS"))
    found = e.CoordinatorFound(group="billing", member="billing-1", broker=2)
    lines = lines_of(found, state("Joining"), loads)
    node = "broker-2:9092 (id: 2147483645 rack: null isFenced: false)"
    assert lines[-3] == f"{CLIENT}JoinGroup failed: Coordinator {node} is loading the group."
    assert "CoordinatorLoadInProgressException" in lines[-2]


def test_a_follower_of_an_empty_log_says_that_it_cuts_nothing() -> None:
    """Without a leader epoch of its own it truncates to its high watermark; one that has records asks its leader."""
    said = "Truncating to 0 has no effect as the largest offset in the log is -1"

    def elected(at_us: int, leader: int) -> list[Event]:
        isr = tuple(one for one in (1, 2, 3) if one >= leader)
        epoch = leader - 1
        return [
            e.LeaderElected(
                partition="orders-0", leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=isr,
                reason="broker fenced", at_us=at_us,
            ),
            e.LeadershipTaken(
                partition="orders-0", broker=leader, leader_epoch=epoch, log_start=0, high_watermark=0, log_end=0, bytes=0,
                at_us=at_us,
            ),
        ]  # fmt: skip

    def cut(*events: Event) -> list[str]:
        return [line for line in lines_of(*events) if "UnifiedLog" in line]

    gone = e.BrokerStopped(broker=1, how="kill")
    back = e.BrokerStateChanged(broker=1, state="Running")
    follows = [f"[UnifiedLog partition=orders-0, dir=/broker-{one}] {said}" for one in (3, 1)]
    assert cut(*elected(0, 2)) == []
    assert cut(gone, *elected(5, 2)) == follows[:1]
    assert cut(gone, *elected(5, 2), back, back) == follows
    filled = e.RecordsAppended(
        partition="orders-0", leader_epoch=1, base_offset=0, count=1, bytes=1, producer="p-1", epoch=-1, producer_id=-1,
        base_sequence=-1, first_serial=0,
    )  # fmt: skip
    assert cut(gone, filled, *elected(5, 2), back) == []


def test_an_idempotent_producer_says_that_it_raises_its_epoch() -> None:
    doubt = e.SequenceInDoubt(producer="orders-producer-1", partition="orders-0", acknowledged=41, following=47)
    assert lines_of(doubt) == [
        (
            "[Producer clientId=orders-producer-1] No inflight batches remaining for orders-0, last ack'd sequence for partition"
            " is 41, next sequence is 47. Going to bump epoch and reset sequence numbers."
        )
    ]


@pytest.mark.parametrize(
    ("error", "broker", "said"),
    [
        ("REQUEST_TIMED_OUT", 1, "REQUEST_TIMED_OUT. Error Message: Disconnected from node 1 due to timeout"),
        ("REQUEST_TIMED_OUT", -1, "REQUEST_TIMED_OUT"),
        ("NOT_ENOUGH_REPLICAS", -1, "NOT_ENOUGH_REPLICAS"),
        ("NETWORK_EXCEPTION", 1, "NETWORK_EXCEPTION. Error Message: Disconnected from node 1"),
    ],
)
def test_why_a_batch_is_sent_again(error: str, broker: int, said: str) -> None:
    retried = e.BatchRetried(
        producer="pay-1", partition="orders-0", records=1, error=error, attempt=1, disconnected_from=broker
    )
    client = "[Producer clientId=pay-1] "
    again = f"{client}Got error produce response on topic-partition orders-0, retrying. Error: {said}"
    metadata = (
        f"{client}Received invalid metadata error in produce request on partition orders-0 due to"
        " org.apache.kafka.common.errors.NetworkException: Disconnected from node 1 Going to request metadata update now"
    )
    assert lines_of(retried) == [again, metadata][: 1 + (error == "NETWORK_EXCEPTION")]


def test_a_group_that_an_administrator_deletes_and_one_that_expires() -> None:
    dropped = e.OffsetsDeleted(at_us=5, group="billing", partitions=("orders-0", "orders-1"))
    gone = e.GroupDeleted(at_us=5, group="billing", broker=1)
    [line] = lines_of(dropped, gone)
    assert line.endswith("The following groups were deleted: billing. A total of 2 offsets were removed.")
    assert lines_of(dropped) == [], "offsets alone"
    assert lines_of(dropped, msgspec.structs.replace(gone, at_us=9)) == [], "its last member has left since"
    assert lines_of(gone) == []
