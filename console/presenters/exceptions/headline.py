"""The headline of every screen: the worst exception of the whole cluster, in one line."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from cluster.view.state import ClusterView
from console.presenters.exceptions import cluster_conditions as cluster
from console.presenters.exceptions import group_conditions as group
from console.presenters.exceptions.facts import ClusterFacts, ConditionWords
from console.presenters.exceptions.operations import operation_under_way
from console.presenters.producers.limits import ProducerConfigs
from console.presenters.styled_text import EMPTY, ERROR, MOVING, MUTED, OK, WARN, Line, cut, length, line

GLYPH, GAP = 2, 2  # cells of the sign, and between the breadcrumb and the headline
GLYPHS = {ERROR: "✖", WARN: "▲", MOVING: "↻", OK: "●"}


class Condition(NamedTuple):
    """What may hold in a cluster, the tone of its severity, and where its words come from."""

    name: str
    tone: str
    find: Callable[[ClusterFacts], ConditionWords | None]


RANKING = (
    Condition("partitions without a live leader", ERROR, cluster.without_leader),
    Condition("partitions with a frozen leader", ERROR, cluster.frozen_leader),
    Condition("coordinator does not answer", ERROR, group.coordinator_out),
    Condition("partitions below min.insync.replicas", ERROR, cluster.below_minimum),
    Condition("hanging transaction", ERROR, cluster.hanging_transaction),
    Condition("group waits for a member that makes no progress", WARN, group.waits_for_unable),
    Condition("producer makes no progress", WARN, cluster.still_producer),
    Condition("transaction holds readers back", WARN, cluster.stuck_transaction),
    Condition("member is silent", WARN, group.silent_member),
    Condition("frozen process is not a member", WARN, group.frozen_outside),
    Condition("poll() is late", WARN, group.late_poll),
    Condition("partitions stay paused", WARN, group.long_pause),
    Condition("producer is fenced", WARN, cluster.fenced_producer),
    Condition("producer is down", WARN, cluster.dead_producer),
    Condition("broker is down", WARN, cluster.broker_away),
    Condition("rebalance under way", MOVING, group.rebalance_under_way),
    Condition("partitions under-replicated", WARN, cluster.under_replicated),
    Condition("fault in force", WARN, cluster.fault_in_force),
    Condition("operation under way", MOVING, operation_under_way),
    Condition("reassignment in progress", MOVING, cluster.reassigned),
    Condition("broker starts or shuts down", MOVING, cluster.broker_passing),
    Condition("coordinator loads a group", MOVING, group.coordinator_loading),
)
"""Worst first: the first condition that holds is the headline."""


class Headline(NamedTuple):
    """The worst exception: its tone, and its words in several lengths, longest first."""

    tone: str
    forms: tuple[str, ...]


def headline(
    view: ClusterView, now_us: int, session_us: int | None, configs: ProducerConfigs | None = None
) -> Headline:
    """The first condition of the ranking that holds; the state of a calm cluster without one."""
    facts = ClusterFacts(view, now_us, session_us, configs)
    return next(_holding(facts), Headline(OK, (calm_words(view),)))


def in_force(
    view: ClusterView, now_us: int, session_us: int | None, configs: ProducerConfigs | None = None
) -> list[Headline]:
    """Every condition of the ranking that holds, worst first; none in a calm cluster."""
    return list(_holding(ClusterFacts(view, now_us, session_us, configs)))


def _holding(facts: ClusterFacts) -> Iterator[Headline]:
    for condition in RANKING:
        finding = condition.find(facts)
        if finding is not None:
            yield Headline(condition.tone, finding.forms)


def calm_words(view: ClusterView) -> str:
    """The states of the groups, and that all partitions are in sync."""
    states: dict[str, int] = {}
    for each in view.groups.values():
        states[each.state] = states.get(each.state, 0) + 1
    if not states:
        return "all partitions in sync"
    if set(states) == {"Stable"}:
        return "all groups Stable, all partitions in sync"
    shown = ", ".join(f"{number} {'group' if number == 1 else 'groups'} {state}" for state, number in states.items())
    return f"{shown}, all partitions in sync"


def headline_line(found: Headline, width: int) -> Line:
    """The longest form that fits into a width, the shortest one cut."""
    glyph = f"{GLYPHS[found.tone]} "
    words = next((form for form in found.forms if len(glyph) + len(form) <= width), found.forms[-1])
    return cut(line((glyph, found.tone), (words, MUTED if found.tone == OK else found.tone)), width)


def beside(path: Sequence[Line], found: Headline, width: int) -> Line:
    """A breadcrumb and the headline in one line. The words of an exception shorten the breadcrumb before themselves.

    `path`: the breadcrumb in its lengths, longest first.
    """
    lengths = [*path, EMPTY] if found.tone != OK else path
    for form in found.forms:
        for shown in lengths:
            room = width - length(shown) - GAP
            if len(form) + GLYPH <= room:
                return (*shown, *line(" " * GAP), *headline_line(found, room))
    return cut(path[0], width) if found.tone == OK else (*line(" "), *headline_line(found, width - 1))
