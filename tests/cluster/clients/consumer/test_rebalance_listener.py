"""A rebalance listener that commits: when it is called, what it stores, what it costs, and what interrupts it."""

import msgspec
import pytest

from cluster import events as e
from cluster.clients.consumer.consumer import Consumer
from cluster.config import Value
from cluster.spec import MemberSpec, OnRevoked, ScenarioSpec
from recordings.flights.runner import Plan, fly
from recordings.journal.format import Settings
from recordings.scenarios.loader import parse_scenario
from recordings.scenarios.writer import write_scenario
from tests.support.completed_flight import Flown, flown
from tests.support.random_flights import lies
from tests.support.scenario_builders import COOPERATIVE, MS, SECOND_US, group_of
from tests.support.slow_cases import partly_campaign

RANGE = ("range",)
SLOW_READER = {"session.timeout.ms": 6_000, "max.poll.records": 50}


def listening(
    *steps: tuple[float, str],
    until_s: float = 40,
    members: int = 2,
    assignors: tuple[str, ...] = COOPERATIVE,
    on_revoked: OnRevoked = "commit",
    takes_us: int = 0,
    consumer: dict[str, Value] | None = None,
    static: bool = False,
) -> ScenarioSpec:
    """A group whose last member works 2 s on each poll(): the others read on, and wait for it at the barrier."""
    scenario = group_of(
        *steps, until_s=until_s, members=members, assignors=assignors, consumer=SLOW_READER | (consumer or {})
    )
    (group,) = scenario.groups
    application = msgspec.structs.replace(group.application, on_revoked=on_revoked, revoke_takes_us=takes_us)
    slow = MemberSpec(f"g-{members}", per_record_us=40 * MS)
    group = msgspec.structs.replace(group, application=application, own=(slow,), static=static)
    return msgspec.structs.replace(scenario, groups=(group,))


def unstored(flight: Flown) -> list[str]:
    """What listeners said is stored, and is below what their own member has finished, by other events than theirs."""
    finished: dict[tuple[str, str], int] = {}
    found = []
    for event in flight.all(e.Event):
        if isinstance(event, e.RecordsProcessed):
            finished[event.member, event.partition] = event.next_offset
        elif isinstance(event, e.PartitionsAssigned):
            for name in event.partitions:
                finished.pop((event.member, name), None)
        elif isinstance(event, e.RebalanceListenerReturned) and event.commit == "stored":
            found += [
                f"{event.at_us}: {event.member} {name}"
                for name in event.partitions
                if event.offsets.get(name, -1) < finished.get((event.member, name), -1)
            ]
    return found


def test_what_a_cooperative_member_reads_during_the_rebalance_is_read_again_without_a_listener() -> None:
    plain = flown(listening((15, "scale g to 3"), on_revoked="nothing")).document["delivery"]
    flight = flown(listening((15, "scale g to 3")))
    careful = flight.document["delivery"]
    assert plain["duplicated"] > 5
    assert (careful["duplicated"], plain["lost"], careful["lost"]) == (0, 0, 0)
    assert unstored(flight) == []


@pytest.mark.parametrize("assignors", [RANGE, COOPERATIVE])
def test_partitions_are_given_up_and_the_group_joins_when_the_listener_has_returned(assignors: tuple[str, ...]) -> None:
    flight = flown(listening((15, "scale g to 3"), assignors=assignors, takes_us=2 * SECOND_US, members=1))
    called, returned = flight.all(e.RebalanceListenerCalled), flight.all(e.RebalanceListenerReturned)
    revoked = flight.all(e.PartitionsRevoked)
    assert [one.partitions for one in called] == [one.partitions for one in returned]
    assert [one.partitions for one in called] == [one.partitions for one in revoked]
    for begun, ended, given_up in zip(called, returned, revoked, strict=True):
        assert 2 * SECOND_US < ended.at_us - begun.at_us < 2 * SECOND_US + 20 * MS
        assert given_up.at_us == ended.at_us
    first = called[0]
    joins = [one.at_us for one in flight.all(e.JoinReceived, member="g-1", after_us=first.at_us)]
    assert joins[0] > returned[0].at_us
    assert (len(first.partitions) == 6) is (assignors is RANGE)
    beats = [one.at_us for one in flight.all(e.HeartbeatAnswered, member="g-1")]
    assert any(first.at_us < at_us < returned[0].at_us for at_us in beats)


@pytest.mark.parametrize("assignors", [RANGE, COOPERATIVE])
def test_an_eager_member_without_partitions_revokes_none_before_it_joins_again(assignors: tuple[str, ...]) -> None:
    """onPartitionsRevoked([]), but not at the first join, which has no generation (`onJoinPrepare`)."""
    flight = flown(listening((15, "stop g-1"), assignors=assignors, members=7, takes_us=SECOND_US))
    idle = next(one.member for one in flight.all(e.PartitionsAssigned) if not one.partitions)
    revoked = [one for one in flight.all(e.PartitionsRevoked, member=idle) if not one.partitions]
    assert bool(revoked) is (assignors is RANGE)
    assert not any(one.lost for one in revoked)
    joins = [one.at_us for one in flight.all(e.JoinReceived, member=idle)]
    for one in revoked:
        assert joins[0] < one.at_us
        assert any(one.at_us < at_us < one.at_us + SECOND_US for at_us in joins), (
            "a listener without partitions is done"
        )
    assert () not in [one.partitions for one in flight.all(e.RebalanceListenerCalled)]


def test_a_listener_that_only_takes_time_commits_nothing() -> None:
    flight = flown(listening((15, "scale g to 3"), on_revoked="nothing", takes_us=SECOND_US))
    returned = flight.all(e.RebalanceListenerReturned)
    assert returned
    assert {(one.commit, len(one.offsets)) for one in returned} == {("", 0)}


def test_one_member_has_a_listener_of_its_own() -> None:
    given = listening((15, "scale g to 3"), on_revoked="nothing")
    (group,) = given.groups
    own = (*group.own, MemberSpec("g-1", on_revoked="commit", revoke_takes_us=SECOND_US))
    flight = flown(msgspec.structs.replace(given, groups=(msgspec.structs.replace(group, own=own),)))
    assert {one.member for one in flight.all(e.RebalanceListenerReturned)} == {"g-1"}


def test_a_listener_is_written_as_it_was_read() -> None:
    given = listening(takes_us=1_500 * MS)
    (group,) = given.groups
    own = (MemberSpec("g-1", on_revoked="nothing", revoke_takes_us=0), *group.own)
    scenario = msgspec.structs.replace(given, groups=(msgspec.structs.replace(group, own=own),))
    assert parse_scenario(write_scenario(scenario), "again.toml").spec.groups == scenario.groups


def test_close_calls_the_listener() -> None:
    flight = flown(listening((15.3, "stop g-1"), takes_us=SECOND_US))
    (returned,) = [one for one in flight.all(e.RebalanceListenerReturned) if one.member == "g-1"]
    (left,) = flight.all(e.MemberRemoved, member="g-1")
    assert returned.commit == "stored"
    assert returned.at_us < left.at_us < returned.at_us + 20 * MS


def test_close_ends_the_heartbeat_thread_first_so_that_a_long_listener_outlives_the_session() -> None:
    flight = flown(listening((15.3, "stop g-1"), takes_us=8 * SECOND_US))
    (returned,) = [one for one in flight.all(e.RebalanceListenerReturned) if one.member == "g-1"]
    (gone,) = flight.all(e.MemberRemoved, member="g-1")
    assert gone.reason == "session expired"
    assert returned.commit == "failed"
    assert flight.all(e.OffsetCommitRefused, member="g-1", error="UNKNOWN_MEMBER_ID")


@pytest.mark.parametrize("assignors", [RANGE, COOPERATIVE])
def test_a_listener_slower_than_the_poll_interval_is_thrown_out_and_cannot_commit(assignors: tuple[str, ...]) -> None:
    poll: dict[str, Value] = {"max.poll.interval.ms": 5_000}
    flight = flown(
        listening((15, "scale g to 2"), members=1, assignors=assignors, takes_us=7 * SECOND_US, consumer=poll)
    )
    called = flight.all(e.RebalanceListenerCalled, member="g-1")[0]
    returned = flight.all(e.RebalanceListenerReturned, member="g-1")[0]
    if assignors is RANGE:  # its group waits for it, and no longer than its max.poll.interval.ms
        began = flight.all(e.RebalanceStarted, after_us=15 * SECOND_US)[0]
        gone = flight.all(e.MemberRemoved, member="g-1")[0]
        assert (gone.reason, gone.at_us - began.at_us) == ("poll interval exceeded", 5 * SECOND_US)
    else:  # its own heartbeat thread sees it first
        left = flight.all(e.MemberStateChanged, member="g-1", state="Left")[0]
        assert left.at_us - called.at_us == 5 * SECOND_US
    assert (returned.at_us - called.at_us, returned.commit) == (7 * SECOND_US, "failed")
    assert flight.all(e.OffsetCommitRefused, member="g-1", error="CommitFailedException")
    after = flight.all(e.PartitionsRevoked, member="g-1", after_us=called.at_us)
    assert (after[0].partitions, after[0].lost) == (called.partitions, False)
    assert any(one.lost for one in after) is (assignors is COOPERATIVE)  # what it had kept is lost
    assert flight.document["members"]["g-1"]["state"] in {"Stable", "Revoking", "Joining", "Syncing"}


def test_lost_partitions_are_not_committed() -> None:
    flight = flown(listening((15, "pause g-1 for 9s")))
    lost = [one for one in flight.all(e.PartitionsRevoked, member="g-1") if one.lost]
    assert lost
    calls = flight.all(e.RebalanceListenerCalled, member="g-1")
    assert not any(one.at_us == each.at_us for one in lost for each in calls)


def coordinator(flight: Flown) -> int:
    """The broker that coordinates the group."""
    broker: int = flight.document["groups"]["g"]["coordinator"]
    return broker


def test_a_commit_waits_for_the_next_coordinator() -> None:
    before = flown(listening((15, "scale g to 3"), members=1, until_s=14))
    steps = (15, "scale g to 3"), (16.5, f"kill broker-{coordinator(before)}")
    flight = flown(listening(*steps, members=1, assignors=RANGE, takes_us=2 * SECOND_US))
    returned = flight.all(e.RebalanceListenerReturned, member="g-1")[0]
    assert returned.commit == "stored"
    assert returned.at_us > 20 * SECOND_US  # the broker's session ends first
    assert unstored(flight) == []


def test_a_commit_gives_up_after_the_default_api_timeout_and_the_partitions_go() -> None:
    before = flown(listening((15, "scale g to 3"), members=1, until_s=14))
    steps = (15, "scale g to 3"), (16.5, f"cut g-1 broker-{coordinator(before)} for 12s")
    timeouts: dict[str, Value] = {"default.api.timeout.ms": 3_000, "request.timeout.ms": 1_000}
    scenario = listening(*steps, members=1, assignors=RANGE, takes_us=2 * SECOND_US, consumer=timeouts)
    flight = flown(scenario)
    called = flight.all(e.RebalanceListenerCalled, member="g-1")[0]
    returned = flight.all(e.RebalanceListenerReturned, member="g-1")[0]
    assert returned.commit == "failed"
    assert 5 * SECOND_US <= returned.at_us - called.at_us < 7 * SECOND_US
    (revoked, *_) = flight.all(e.PartitionsRevoked, member="g-1", after_us=called.at_us)
    assert (revoked.at_us, revoked.lost) == (returned.at_us, False)


DURING = (
    "kill g-1 for 3s",
    "pause g-1 for 9s",
    "stall g-1 for 3s",
    "stop g-1",
    "pause g-1 for 1s",
    "restart g-1",
    "kill broker-2 for 5s",
    "seek g orders-0 to 3",
    "subscribe g-1 to payments",
    "pause heartbeats of g-1 for 9s",
    "add partitions orders to 8",
)


def violations(scenario: ScenarioSpec) -> list[str]:
    """The invariants that a flight breaks."""
    outcome = fly(Plan(scenario="t", text="", spec=scenario, settings=Settings(seed=1, until_us=scenario.until_us)))
    assert isinstance(outcome.invariants, dict)
    return [violation["invariant"] for violation in outcome.invariants["violations"]]


def interrupted(text: str, assignors: tuple[str, ...], *, static: bool) -> ScenarioSpec:
    """A flight in which something happens while listeners run."""
    steps = (15, "scale g to 3"), (16, text)
    return listening(*steps, assignors=assignors, takes_us=2 * SECOND_US, static=static, until_s=28)


@pytest.mark.parametrize("text", DURING[:4])
@pytest.mark.parametrize("assignors", [RANGE, COOPERATIVE])
def test_no_invariant_breaks_whatever_happens_during_it(text: str, assignors: tuple[str, ...]) -> None:
    assert violations(interrupted(text, assignors, static=False)) == []


@pytest.mark.parametrize("text", partly_campaign(DURING, len(DURING) // 2))
@pytest.mark.parametrize("assignors", [RANGE, COOPERATIVE])
@pytest.mark.parametrize("static", [False, True])
def test_the_truth_agrees_whatever_happens_during_it(text: str, assignors: tuple[str, ...], *, static: bool) -> None:
    scenario = interrupted(text, assignors, static=static)
    assert lies(scenario) == []
    assert violations(scenario) == []


def test_a_second_process_of_a_static_member_fences_the_one_in_its_listener() -> None:
    given = listening((15, "scale g to 3"), members=1, assignors=RANGE, takes_us=4 * SECOND_US)
    (group,) = given.groups
    twins = msgspec.structs.replace(group, config=group.config | {"group.instance.id": "twin"})
    flight = flown(msgspec.structs.replace(given, groups=(twins,)))
    assert flight.all(e.ConsumerFenced)


def test_the_invariant_sees_a_commit_that_was_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unsent(_: Consumer) -> bool:
        return True

    monkeypatch.setattr(Consumer, "commit_sync", unsent)
    assert violations(listening((15, "scale g to 3"))) == ["G17"]
