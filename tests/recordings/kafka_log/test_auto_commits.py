"""What a consumer writes of its auto commits that fail for good, word for word as a real 4.3.1 has it."""

# ruff: noqa: E501 - log lines stand here as they are written

import pytest

from cluster import events as e
from cluster.events import Event
from cluster.protocol import reasons
from recordings.flights.runner import fly, make_plan
from recordings.kafka_log.renderer import KafkaLog
from recordings.scenarios.loader import load
from tests.support.kafka_log_lines import CLIENT, ID, OTHER, lines_of, rebalance, state

FAILING = f"{CLIENT}Failing OffsetCommit request since the consumer is not part of an active group"
IN_NO_GROUP = (
    "Offset commit cannot be completed since the consumer is not part of an active group for auto partition assignment; it is"
    " likely that the consumer was kicked out of the group."
)
REBALANCED = (
    "Commit cannot be completed since the group has already rebalanced and assigned the partitions to another member. This"
    " means that the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, which"
    " typically implies that the poll loop is spending too much time message processing. You can address this either by"
    " increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with max.poll.records."
)
ORDERS_0 = "{orders-0=OffsetAndMetadata{offset=7, leaderEpoch=null, metadata=''}}"


def failed(during: str, error: str) -> Event:
    return e.AutoCommitFailed(
        group="billing", member="billing-1", during=during, error=error, offsets={"orders-0": 7} if error else {}
    )


GONE = state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "HEARTBEAT"), member_id="")
REJOINS = state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "HEARTBEAT"), member_id="")


def test_a_member_that_lost_its_generation_says_at_its_next_poll_what_was_not_committed() -> None:
    later = f"{CLIENT}Asynchronous auto-commit of offsets {ORDERS_0} failed: {IN_NO_GROUP}"
    rejoins = f"{CLIENT}(Re-)joining group"
    begun = (GONE, failed("rejoin", "CommitFailedException"), REJOINS)
    lines = lines_of(*begun)
    assert lines[-3:] == [
        FAILING,
        f"{CLIENT}Asynchronous auto-commit of offsets failed: {IN_NO_GROUP}. Will continue to join group.",
        rejoins,
    ]
    given = state("Joining", reasons.given_member_id(OTHER), member_id=OTHER)
    asks = f"{CLIENT}Request joining group due to: need to re-join with the given member-id: {OTHER}"
    assert lines_of(*begun, given)[-4:] == [rejoins, asks, later, rejoins]
    arrives = e.JoinReceived(
        group="billing", member="billing-1", member_id=OTHER, newcomer=False, session_timeout_ms=1,
        rebalance_timeout_ms=1,
    )  # fmt: skip
    assert lines_of(*begun, arrives)[-2:] == [rejoins, later]
    assert lines_of(*begun, arrives, given).count(later) == 1


def test_the_refused_heartbeat_behind_a_refused_commit_is_read_when_the_next_commit_is_tried() -> None:
    refused = e.HeartbeatAnswered(
        group="billing", member="billing-1", member_id=ID, error="UNKNOWN_MEMBER_ID", session_deadline_us=-1
    )
    gone = state("Joining", reasons.encountered("UNKNOWN_MEMBER_ID", "OFFSET_COMMIT"), member_id="")
    lines = lines_of(
        rebalance("any"), refused, gone, failed("poll", "UNKNOWN_MEMBER_ID"), failed("rejoin", "CommitFailedException")
    )
    assert lines[-5:-1] == [
        f"{CLIENT}Request joining group due to: encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response",
        f"{CLIENT}Asynchronous auto-commit of offsets {ORDERS_0} failed: {REBALANCED}",
        FAILING,
        (
            f"{CLIENT}Attempt to heartbeat with stale Generation{{generationId=3, memberId='{ID}', protocol='range'}} and group"
            " instance id Optional.empty failed due to UNKNOWN_MEMBER_ID, ignoring the error"
        ),
    ]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("CommitFailedException", IN_NO_GROUP),
        (
            "RebalanceInProgressException",
            (
                "Offset commit cannot be completed since the consumer is undergoing a rebalance for auto partition assignment."
                " You can try completing the rebalance by calling poll() and then retry the operation."
            ),
        ),
        ("ILLEGAL_GENERATION", REBALANCED),
        ("OFFSET_METADATA_TOO_LARGE", "The metadata field of the offset request was too large."),
    ],
)
def test_the_last_commit_of_a_consumer_that_closes(error: str, said: str) -> None:
    lines = lines_of(state("Stable", generation=3), failed("close", error))
    unsent = error.endswith("Exception")
    assert lines == [FAILING] * unsent + [f"{CLIENT}Synchronous auto-commit of offsets {ORDERS_0} failed: {said}"]


def test_a_commit_of_a_generation_that_is_over() -> None:
    joined = state("Joining", generation=3)
    assert lines_of(joined, failed("poll", "ILLEGAL_GENERATION"))[-1] == (
        f"{CLIENT}Asynchronous auto-commit of offsets {ORDERS_0} failed: Offset commit cannot be completed since the consumer"
        " member's generation is already stale, meaning it has already participated another rebalance and got a new generation."
        " You can try completing the rebalance by calling poll() and then retry commit again"
    )


def test_a_member_that_must_rejoin_does_not_wait_for_its_commit_for_ever() -> None:
    assert lines_of(failed("rejoin", "COORDINATOR_NOT_AVAILABLE")) == [
        f"{CLIENT}Asynchronous auto-commit of offsets failed: joinPrepare timeout. Will continue to join group"
    ]


def test_poll_throws_and_invokes_no_callback_when_the_member_is_fenced() -> None:
    assert lines_of(failed("poll", "FENCED_INSTANCE_ID")) == []


@pytest.mark.parametrize(
    ("scenario", "during"), [("s05-long-stall", "rejoin"), ("s12x-twins", "close"), ("s16-frozen", "poll")]
)
def test_flights_have_auto_commits_that_fail(scenario: str, during: str) -> None:
    told: list[e.AutoCommitFailed] = []
    written: list[str] = []
    log = KafkaLog(written.append)

    def see(event: Event) -> None:
        log(event)
        if isinstance(event, e.AutoCommitFailed):
            told.append(event)

    fly(make_plan(load(f"tests/fidelity/scenarios/{scenario}.toml")), log=see)
    assert during in {event.during for event in told}
    assert all(event.offsets for event in told)
    said = [line for line in written if "auto-commit of offsets {" in line]
    assert len(said) == len(told)
    assert all("] WARN [Consumer" in line for line in said)
