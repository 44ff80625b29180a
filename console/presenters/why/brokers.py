"""Why a broker serves nothing: its process has ended or is frozen, it starts or shuts down, it leads no partition."""

from cluster.view.brokers import BrokerView
from cluster.view.state import PartitionView
from console.presenters.coordinator_status import new_leader_by_us
from console.presenters.exceptions.facts import and_more
from console.presenters.formatting import countdown
from console.presenters.overview import broker_state
from console.presenters.styled_text import ERROR, MOVING, OK, WARN
from console.presenters.why.answers import WhyAnswer, WhyFact, WhyFacts, fault_ends, in_order

BROKER_LINES = (
    "fault_started",
    "broker_stopped",
    "broker_fenced",
    "broker_started",
    "broker_state_changed",
    "controller_elected",
)
AWAY = {
    "down": "is down and fenced",
    "silent": "is down, and the controller has not fenced it",
    "frozen": "is frozen",
    "fenced": "runs, and the controller has fenced it",
}
PASSING = {"starting": "starts", "stopping": "shuts down"}


def broker_lines(facts: WhyFacts, number: int) -> tuple[WhyFact, ...]:
    """The newest line of a broker for each kind of event in its life; of a frozen one, the fault that froze it."""
    name, broker = f"broker-{number}", facts.view.brokers.get(number)
    if broker is None or not broker.paused:
        return facts.lines(name, *BROKER_LINES)
    froze = [one for one in facts.view.faults.values() if one.kind == "pause" and name in one.targets]
    first = tuple(WhyFact(one.since_us, one.text) for one in froze[:1]) or facts.last(name, "fault_started")
    return (*first, *facts.lines(name, *(kind for kind in BROKER_LINES if kind != "fault_started")))


def fenced_within(facts: WhyFacts, number: int) -> str:
    """The timer that takes the leadership from a dead broker, if it runs."""
    broker = facts.view.brokers.get(number)
    if broker is None or broker.alive or broker.fenced:
        return ""
    left_us = new_leader_by_us(facts.view, number, facts.session_us) - facts.now_us
    return f"broker-{number} is fenced within {countdown(left_us)} (broker.session.timeout.ms)" if left_us > 0 else ""


def revive(facts: WhyFacts, numbers: list[int]) -> tuple[str, ...]:
    """The command for the first broker whose process has ended or is frozen."""
    for number in numbers:
        broker = facts.view.brokers.get(number)
        if broker is not None and not broker.alive:
            return (f"start broker-{number}",)
        if broker is not None and broker.paused:
            return (f"resume broker-{number}",)
    return ()


def broker_away(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The process of the broker has ended or is frozen, or the controller has fenced it."""
    broker = _broker(facts, name)
    words = AWAY.get(broker_state(broker))
    if words is None:
        return None
    ends = fault_ends(facts, name, fenced_within(facts, broker.broker))
    if broker.fenced and not broker.alive and not ends:
        ends = "no timer ends this: its process is not running"
    found = in_order(*broker_lines(facts, broker.broker))
    return WhyAnswer(f"{name} {words}", ERROR, found, ends, revive(facts, [broker.broker]))


def broker_passing(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The broker starts, waits to be unfenced, or shuts down."""
    broker = _broker(facts, name)
    words = PASSING.get(broker_state(broker))
    if words is None:
        return None
    return WhyAnswer(f"{name} {words}", MOVING, in_order(*broker_lines(facts, broker.broker)))


def leads_nothing(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """The broker is up and leads no partition although it has replicas."""
    broker = _broker(facts, name)
    every = facts.view.partitions.values()
    replicas = [one for one in every if broker.broker in one.replicas and broker.broker not in one.adding]
    if broker_state(broker) != "up" or not replicas or any(one.leader == broker.broker for one in replicas):
        return None
    verdict = f"{name} leads none of the {len(replicas)} partitions that it replicates"
    return WhyAnswer(verdict, WARN, in_order(*broker_lines(facts, broker.broker)))


def out_of_sync(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Replicas of the broker that are not in sync; those that a reassignment adds need not be."""
    broker = _broker(facts, name)
    behind = [one.partition for one in _out(facts, broker) if broker.broker not in one.adding]
    if not behind:
        return None
    behind.sort(key=lambda one: one.startswith("__"))
    verdict = f"{name} is out of sync in {and_more(behind)}"
    return WhyAnswer(verdict, WARN, in_order(*broker_lines(facts, broker.broker)))


def copies_replicas(facts: WhyFacts, name: str) -> WhyAnswer | None:
    """Replicas that reassignments add to the broker, and that are not in sync yet."""
    broker = _broker(facts, name)
    copied = [one.partition for one in _out(facts, broker) if broker.broker in one.adding]
    if not copied or broker_state(broker) != "up":
        return None
    copied.sort(key=lambda one: one.startswith("__"))
    verdict = f"{name} copies {and_more(copied)} for a reassignment"
    return WhyAnswer(verdict, MOVING, in_order(*broker_lines(facts, broker.broker)))


def broker_serves(facts: WhyFacts, name: str) -> WhyAnswer:
    """The facts that prove that the broker serves."""
    broker = _broker(facts, name)
    led = sum(one.leader == broker.broker for one in facts.view.partitions.values())
    noun = "partition" if led == 1 else "partitions"
    return WhyAnswer(f"{name} is up: it leads {led} {noun}, its replicas are in sync", OK)


def _out(facts: WhyFacts, broker: BrokerView) -> list[PartitionView]:
    """The partitions whose replica on the broker is not in sync."""
    every = facts.view.partitions.values()
    return [one for one in every if broker.broker in one.replicas and broker.broker not in one.isr]


def _broker(facts: WhyFacts, name: str) -> BrokerView:
    return facts.view.brokers[int(name.rpartition("-")[2])]
