"""The coordinator's broker dies in each state of its group: what the members notice of it."""

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.broker import coordinator_runtime as hosting
from cluster.config import Value
from cluster.coordinators.group import coordinator as group_coordinator
from cluster.protocol.errors import ErrorCode
from cluster.protocol.messages import HeartbeatResponse, OffsetCommitResponse
from cluster.simulation import Simulation
from cluster.spec import BrokerSpec
from tests.support.completed_flight import Flown, flown
from tests.support.scenario_builders import MS, SECOND_US, spec


def states(flight: Flown) -> list[tuple[str, int, int]]:
    """What each new coordinator found in its log: (state, generation, members)."""
    return [(event.state, event.generation, len(event.members)) for event in flight.all(e.GroupLoaded, SECOND_US)]


@pytest.mark.parametrize("how", ["kill broker-2", "stop broker-2", "crash broker-2", "move coordinator of g"])
def test_a_stable_group_notices_nothing(how: str) -> None:
    session: dict[str, Value] = {"session.timeout.ms": 45_000}  # to find a host gone takes longer than six seconds
    flight = flown(spec((30.5, how), until_s=70, members=2, commit="after-each-poll", consumer=session))
    assert states(flight) == [("Stable", 1, 2)]
    assert len(flight.all(e.RebalanceStarted)) == 1
    assert not flight.all(e.PartitionsRevoked)
    group = flight.document["groups"]["g"]
    assert (group["state"], group["generation"], group["members"]) == ("Stable", 1, 2)
    assert flight.document["delivery"]["duplicated"] == 0
    assert flight.all(e.OffsetsCommitted, 50 * SECOND_US)


def test_a_rebalance_that_was_preparing_begins_again() -> None:
    """The barrier is open for a third member: the others have not heard of it when the coordinator goes."""
    first = flown(spec((20.4, "scale g to 3"), until_s=30, members=2))
    opened, closed = first.all(e.RebalanceStarted)[1].at_us, first.all(e.JoinBarrierCompleted)[1].at_us
    moved_us = opened + 2 * MS
    assert moved_us < closed
    steps = [(20.4, "scale g to 3"), (moved_us / SECOND_US, "move coordinator of g")]
    flight = flown(spec(*steps, until_s=60, members=2))
    assert states(flight) == [("Stable", 1, 2)]
    assert [event.generation for event in flight.all(e.RebalanceStarted)][:3] == [0, 1, 1]
    group = flight.document["groups"]["g"]
    assert (group["state"], group["members"]) == ("Stable", 3)
    assert sorted(name for owned in group["assignment"].values() for name in owned) == ["orders-0", "orders-1"]


def test_while_nobody_is_coordinator_a_member_joins_as_often_as_it_may_connect() -> None:
    """`reconnect.backoff.ms` doubles up to a second; looking it up goes on every 100 ms (`ensureCoordinatorReady`)."""
    flight = flown(spec((20.4, "scale g to 3"), (20.6, "kill broker-2"), until_s=60, members=2))
    (loaded,) = flight.all(e.GroupLoaded, SECOND_US)
    silent_us = loaded.at_us - 20_600_000
    assert silent_us > 6 * SECOND_US
    for member in ("g-1", "g-2", "g-3"):
        joins = [
            event.at_us
            for event in flight.all(e.MemberStateChanged, 20_600_000, member=member, state="Joining")
            if event.at_us < loaded.at_us
        ]
        assert len(joins) < 6 + silent_us / (800 * MS), member
        found = [
            each for each in flight.all(e.CoordinatorFound, 20_600_000, member=member) if each.at_us < loaded.at_us
        ]
        assert len(found) > 2 * len(joins), member


def test_a_connection_that_breaks_idle_is_an_unavailable_coordinator() -> None:
    """A request in flight would have failed with it: then the cause is that of its DisconnectException, null."""
    flight = flown(spec((20.5, "kill broker-2"), until_s=30, members=2))
    causes = {event.member: event.cause for event in reversed(flight.all(e.CoordinatorLost, 20_500_000))}
    assert causes == {"g-1": "coordinator unavailable", "g-2": "coordinator unavailable"}


def test_a_generation_that_was_completing_is_dealt_again() -> None:
    """Its members have joined; their leader's SyncGroup is on its way when the coordinator goes."""
    first = flown(spec(until_s=20, members=2))
    closed = first.all(e.JoinBarrierCompleted)[0].at_us
    stable = first.all(e.GroupStabilized)[0].at_us
    assert stable > closed
    moved_s = (closed + MS) / SECOND_US
    flight = flown(spec((moved_s, "move coordinator of g"), until_s=60, members=2))
    assert len(flight.all(e.JoinBarrierCompleted)) >= 2
    group = flight.document["groups"]["g"]
    assert (group["state"], group["members"]) == ("Stable", 2)
    assert sorted(name for owned in group["assignment"].values() for name in owned) == ["orders-0", "orders-1"]


@pytest.mark.slow
def test_while_it_loads_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are told COORDINATOR_LOAD_IN_PROGRESS, heartbeats NONE."""
    emitted: list[object] = []
    coordination = group_coordinator.GroupCoordinator
    handle = coordination.handle

    def notes(self: group_coordinator.GroupCoordinator, request: object, call: object, now_us: int) -> object:
        decision = handle(self, request, call, now_us)  # type: ignore[arg-type]
        if self.loading and now_us > 10 * SECOND_US:
            emitted.extend(answer for _, answer in decision.replies)
        return decision

    monkeypatch.setattr(coordination, "handle", notes)
    monkeypatch.setattr(hosting, "LOAD_US", 3 * SECOND_US)
    flight = flown(spec((20.5, "kill broker-2"), until_s=60, members=4, rate=200, commit="after-each-poll"))
    assert states(flight) == [("Stable", 1, 4)]
    errors = {
        error
        for answer in emitted
        for error in (
            answer.errors.values()
            if isinstance(answer, OffsetCommitResponse)
            else [answer.error]
            if isinstance(answer, HeartbeatResponse)
            else []
        )
    }
    assert ErrorCode.COORDINATOR_LOAD_IN_PROGRESS in errors


def test_a_group_of_which_no_disk_has_anything_is_dead_until_its_members_come_back() -> None:
    """Every replica of its partition crashes before the operating system wrote a page."""
    crashes = [(10.0 + number / 10, f"crash broker-{number}") for number in (1, 2, 3)]
    starts = [(30.0 + number, f"start broker-{number}") for number in (1, 2, 3)]
    flight = flown(spec(*crashes, (15.0, "kill g-1"), *starts, (50.0, "start g-1"), until_s=70))
    (deleted,) = flight.all(e.GroupDeleted)
    assert not flight.all(e.GroupLoaded, SECOND_US)
    again = flight.all(e.JoinBarrierCompleted, deleted.at_us)
    assert [event.generation for event in again] == [1]
    assert flight.document["groups"]["g"]["state"] == "Stable"


def test_who_searches_passes_over_brokers_that_are_gone() -> None:
    """Metadata and the coordinator are searched at once: taking turns with the dead alone, neither found the living."""
    steps = [(15, "kill broker-1"), (15, "kill broker-3"), (45, "kill broker-4")]
    four = tuple(BrokerSpec(number) for number in (1, 2, 3, 4))
    config = {"offsets.topic.num.partitions": 27}  # of which broker-4 leads the one of g, and broker-2 is next
    scenario = msgspec.structs.replace(spec(*steps, members=4, until_s=60), brokers=four, config=config)
    simulation = Simulation(scenario, 1)
    asked: list[tuple[int, int]] = []

    async def main() -> None:
        async with simulation.running():
            for now_us in range(45 * SECOND_US, 53 * SECOND_US, 100 * MS):
                await simulation.timeline.fly(now_us)
                for member in simulation.consumers.values():
                    for _ in four:
                        asked.append((now_us, member.any_broker()))
                        member.try_another_broker()

    trio.run(main, clock=simulation.timeline)
    dead = sum(broker != 2 for _, broker in asked)
    assert 0 < dead < len(asked) // 2  # each once in its backoff of a second at most, the living as often as it likes
    flight = flown(scenario)
    loaded = flight.all(e.GroupLoaded, 45 * SECOND_US)[-1]
    found = {event.member: event.at_us for event in flight.all(e.CoordinatorFound, 45 * SECOND_US) if event.broker == 2}
    assert (loaded.broker, set(found)) == (2, {"g-1", "g-2", "g-3", "g-4"})
    assert max(found.values()) < loaded.at_us + 3 * SECOND_US
    assert not flight.all(e.MemberRemoved, 45 * SECOND_US)


@pytest.mark.parametrize(("in_flight", "cause"), [(False, "coordinator unavailable"), (True, "null")])
def test_what_a_member_says_of_a_coordinator_that_died(in_flight: bool, cause: str) -> None:
    """A request that was in flight ends with a DisconnectException; else the broken connection is found."""
    steps = [(20.4, "scale g to 3")] if in_flight else []
    first = flown(spec(*steps, until_s=30, members=2))
    killed_us = 20_500 * MS
    if in_flight:  # g-3 waits at the barrier that it has opened
        killed_us = first.all(e.RebalanceStarted)[-1].at_us + 2 * MS
    flight = flown(spec(*steps, (killed_us / SECOND_US, "kill broker-2"), until_s=40, members=2))
    lost = flight.all(e.CoordinatorLost, killed_us, member="g-3" if in_flight else "g-1")[0]
    assert (lost.cause, lost.disconnected) == (cause, True)
