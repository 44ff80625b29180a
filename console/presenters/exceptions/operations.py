"""Operations under way that commands began: rollouts and rolling restarts. They are no faults; rebalances follow."""

from typing import NamedTuple

from cluster.view.state import NEVER, ClusterView
from console.presenters.exceptions.facts import ClusterFacts, ConditionWords, longest_first
from console.presenters.formatting import countdown

WORKLOADS = {"deployment": "Deployment", "statefulset": "StatefulSet"}
BROKERS = "brokers"


class Operation(NamedTuple):
    """An operation: its name, how far it is, its start and its end if that is known, and the command that ends it."""

    key: str
    name: str
    progress: str
    next_in: str
    since_us: int
    ends_us: int
    ending: str


def operations(view: ClusterView, now_us: int) -> list[Operation]:
    """Every operation under way, oldest first."""
    found = []
    for one in view.rollouts.values():
        brokers = one.target == BROKERS
        name = "rolling restart of brokers" if brokers else f"rollout of {one.target} ({WORKLOADS[one.workload]})"
        progress = f"{len(one.stopped)} of {one.replaces} {BROKERS if brokers else 'members'} stopped"
        ending = f"end rollout of {one.target}"
        found.append(Operation(f"rollout {one.target}", name, progress, "", one.since_us, NEVER, ending))
    for number, each in enumerate(view.rolling_restarts):
        if each.ends_us > now_us:
            done = each.restarted(now_us)
            left_us = each.since_us + done * each.every_us - now_us
            next_in = f"next in {countdown(left_us)}" if done < each.members else ""
            name, progress = f"rolling restart of {each.group}", f"{done} of {each.members} members stopped"
            key = f"restart {number}"
            found.append(Operation(key, name, progress, next_in, each.since_us, each.ends_us, ""))
    return sorted(found, key=lambda one: one.since_us)


def operation_under_way(facts: ClusterFacts) -> ConditionWords | None:
    """The newest operation, and how many more there are."""
    found = operations(facts.view, facts.now_us)
    if not found:
        return None
    newest = found[-1]
    others = f"{len(found) - 1} more under way" if len(found) > 1 else ""
    return longest_first(f"{newest.name}: {newest.progress}", newest.next_in, others)
