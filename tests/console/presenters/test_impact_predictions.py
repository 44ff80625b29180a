"""A preview predicts what a command changes: each command is previewed in a random state, then given.

Leaders of all partitions, the controller, ISRs below the minimum, coordinators and the members that groups lose must be
those of the prediction and no others; the instants at which members leave agree to half a second.
"""

import msgspec
import pytest
import trio

from cluster import events as e
from cluster.commands import parse
from cluster.random_streams import random_stream
from cluster.simulation import Simulation
from cluster.spec import (
    ApplicationSpec,
    BrokerSpec,
    GroupSpec,
    NetworkSpec,
    ProducerSpec,
    ScenarioSpec,
    StepSpec,
    TopicSpec,
    TransactionsSpec,
)
from cluster.view import ClusterView
from console.presenters.impact import Impact, impact_of
from tests.support.slow_cases import mostly_slow, partly_campaign

SECOND_US = 1_000_000
NOW_US, LATER_US = 45 * SECOND_US, 62 * SECOND_US
CLOSE_US = SECOND_US // 2

EARLIER_FAULTS = (
    (), (), ("kill broker-1",), ("kill broker-2",), ("pause broker-3",), ("crash broker-4",), ("isolate broker-2",),
    ("kill billing-2",), ("kill broker-1", "kill broker-3"), ("stop broker-4", "kill audit-1"),
)  # fmt: skip
COMMANDS = (
    *(f"{word} broker-{number}" for word in ("kill", "crash", "stop", "pause", "isolate") for number in (1, 2, 3, 4)),
    *(f"{word} broker-{number} for 4s" for word in ("kill", "pause") for number in (1, 2)),
    *(f"fill disk of broker-{number}" for number in (1, 2)),
    *(f"{word} {name}" for word in ("kill", "stop", "pause") for name in ("billing-1", "billing-3", "audit-1")),
    *(f"pause {name} for 2s" for name in ("billing-1", "audit-1")),
    "stall billing-1", "stall billing-1 for 3s", "stall audit-1", "pause heartbeats of billing-1", "kill pay-1",
    "fail over controller", "move coordinator of billing", "elect preferred orders-1", "elect preferred orders-2",
    "elect unclean orders-0", "scale billing to 2", "start broker-1", "start broker-4", "restart audit-1",
    "reassign orders-0 to 4,2", "reassign orders-1 to 2", "reassign audits-0 to 3,4,1", "reassign orders-2 to 9",
    "reassign __consumer_offsets-0 to 4,3", "cancel reassignment of orders-0",
)  # fmt: skip


def spec(seed: int) -> ScenarioSpec:
    """Four brokers; something went wrong at the fifteenth second and has had its consequences."""
    chance = random_stream(seed, "blast")
    steps = [StepSpec(15 * SECOND_US, parse(text), text) for text in chance.choice(EARLIER_FAULTS)]
    config = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 1_000, "max.poll.interval.ms": 8_000}
    never = ApplicationSpec(commit="never")
    return ScenarioSpec(
        title="a state",
        until_us=LATER_US,
        brokers=tuple(BrokerSpec(number) for number in (1, 2, 3, 4)),
        config={"offsets.topic.num.partitions": 3, "transaction.state.log.num.partitions": 3},
        network=NetworkSpec(latency_us=1_000, jitter=0.2),
        topics=(
            TopicSpec("orders", partitions=4, config={"min.insync.replicas": chance.choice((1, 2, 3))}),
            TopicSpec("audits", partitions=2, replication=2),
        ),
        producers=(
            ProducerSpec("p", ("orders", "audits"), rate_per_second=20.0),
            ProducerSpec("pay", ("orders",), transactions=TransactionsSpec("pay-{n}", 20, 0.0)),
        ),
        groups=(
            GroupSpec("billing", ("orders",), members=3, config=dict(config), application=never),
            GroupSpec("audit", ("audits",), members=1, static=True, config=dict(config), application=never),
        ),
        steps=tuple(steps),
    )


class Outcome(msgspec.Struct):
    """What could be predicted, as it was at an instant."""

    leaders: dict[str, int]
    controller: int
    short: list[str]
    coordinators: dict[str, int]

    @staticmethod
    def of(view: ClusterView) -> "Outcome":
        partitions = view.partitions.values()
        least = {topic.topic: topic.min_insync_replicas for topic in view.topics.values()}
        return Outcome(
            {one.partition: one.leader for one in partitions},
            view.controller,
            [
                one.partition
                for one in partitions
                if one.leader != -1 and len(one.isr) < min(least[one.topic], len(one.replicas))
            ],
            {group.group: view.partitions[group.coordinator_partition].leader for group in view.groups.values()},
        )


def try_out(seed: int, text: str) -> tuple[Impact, Outcome, Outcome, dict[str, int]]:
    """The preview, what was before and after, and which members left when (µs after the command)."""
    events: list[e.Event] = []
    scenario = spec(seed)
    simulation = Simulation(scenario, seed, sinks=[events.append])
    found: list[tuple[Impact, Outcome]] = []
    short: dict[str, None] = {}

    def look(event: e.Event) -> None:
        if isinstance(event, e.IsrChanged | e.LeaderElected):
            short.update(dict.fromkeys(Outcome.of(simulation.view).short))

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(NOW_US)
            command = parse(text, simulation.names())
            found.append((impact_of(simulation.view, command, NOW_US), Outcome.of(simulation.view)))
            simulation.timeline.submit(command)
            simulation.sinks.append(look)
            await simulation.timeline.fly(LATER_US)

    trio.run(main, clock=simulation.timeline)
    late = [event for event in events if event.at_us >= NOW_US]
    removed = {one.member: one.at_us - NOW_US for one in reversed(late) if isinstance(one, e.MemberRemoved)}
    refused = [one.reason for one in late if isinstance(one, e.CommandRefused)]
    before = found[0]
    assert bool(refused) == bool(before[0].refused), (refused, before[0].refused)
    after = msgspec.structs.replace(Outcome.of(simulation.view), short=list(short))
    return (*before, after, removed)


def judge(seed: int, text: str) -> None:
    """Compare, item by item."""
    predicted, before, after, removed = try_out(seed, text)
    back = int(text.split()[1].removeprefix("broker-")) if "broker" in text and " for " in text else -1
    expected = {name: leader if leader >= 0 else back for name, leader in predicted.leaders.items()}
    assert after.leaders == before.leaders | expected
    assert after.controller == (before.controller if predicted.controller is None else predicted.controller)
    newly_short = [name for name in after.short if name not in before.short and after.leaders[name] >= 0]
    assert sorted(newly_short) == sorted(predicted.unwritable)
    moved = [group for group, broker in after.coordinators.items() if broker != before.coordinators[group]]
    assert sorted(moved) == sorted(predicted.groups)
    broker_faults = [step.text for step in spec(seed).steps if "broker" in step.text]
    silent = any(words.startswith(("pause", "crash", "isolate")) for words in broker_faults)
    waits = any("may lose their sessions" in note for note in predicted.notes)
    if not (
        waits or silent or (broker_faults and predicted.groups)
    ):  # else a member may wait for a broker that is not there
        assert sorted(removed) == sorted(predicted.members)
    heartbeat_us = SECOND_US if text == "stall audit-1" else 0  # a static one is silent from some heartbeat on
    for member, leaving in predicted.members.items() if not silent else ():
        late_us = removed[member] - leaving.after_us
        assert -CLOSE_US - heartbeat_us <= late_us <= CLOSE_US, (member, late_us)


@pytest.mark.parametrize("text", mostly_slow(COMMANDS, quick=COMMANDS[::6], slow=20))
@pytest.mark.parametrize("seed", [6])
def test_what_is_foretold_is_what_happens(seed: int, text: str) -> None:
    judge(seed, text)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", partly_campaign([1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12], 2))
def test_what_is_foretold_is_what_happens_in_many_states(seed: int) -> None:
    for text in COMMANDS:
        judge(seed, text)
