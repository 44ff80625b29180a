"""The impact of a command: leaders, coordinators, members and transactions that it would change, and sentences for it.

The prediction reads the view alone and applies Kafka's rules of elections and sessions before the command is given.
It covers the command's own effects; faults that start later are not part of it.
"""

from collections.abc import Iterator, Sequence

from cluster.commands import CommandError, Names, parse, targets_of, text_of
from cluster.commands import catalogue as c
from cluster.protocol.names import topic_of
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.spec import ScenarioSpec
from cluster.view.state import ClusterView
from console.presenters.formatting import duration
from console.presenters.impacts import cluster, processes, topics
from console.presenters.impacts.model import NO_BROKER, Impact, ImpactModel, MemberRemoval, Predictors
from console.presenters.styled_text import ERROR, MUTED, OK, WARN, Line, Span, line

__all__ = ["BROKER_SESSION_US", "Impact", "MemberRemoval", "impact_line", "impact_of", "preview", "sentences"]

BROKER_SESSION_US = 9_000_000  # broker.session.timeout.ms, unless the scenario says otherwise
NAMES_SHOWN = 3  # names before `and 7 more`

PREDICTORS: Predictors = processes.PREDICTORS | cluster.PREDICTORS | topics.PREDICTORS
"""The predictor of each command class. Commands without one (`heal`, `release`, `set`, `mark`) start no fault."""


def impact_of(
    view: ClusterView,
    command: c.Command,
    now_us: int,
    session_us: int = BROKER_SESSION_US,
    spec: ScenarioSpec | None = None,
) -> Impact:
    """The impact of a command given now; `session_us` is `broker.session.timeout.ms` in µs.

    `spec`: what the scenario declares; None where it is not known, as of logs.
    """
    impact = Impact(command=text_of(command))
    predict = PREDICTORS.get(type(command))
    no_topic = _no_topic_yet(view, command, spec)
    if not view.brokers:
        impact.refused = "the cluster is still being built"
    elif no_topic:
        impact.refused = no_topic
    elif predict is not None:
        predict(ImpactModel(view, now_us, session_us, impact, spec), command)
    return impact


def _no_topic_yet(view: ClusterView, command: c.Command, spec: ScenarioSpec | None) -> str:
    """Why a command has no object that names a topic which the scenario creates later; empty if it names none."""
    if spec is None or isinstance(command, c.CreateTopic):
        return ""
    later = [topic for topic in spec.created_us() if topic not in view.topics]
    named = (name for name in targets_of(command) if later)
    found = next((topic for name in named for topic in later if topic in (name, topic_of(name))), None)
    return spec.no_topic_yet(found) if found is not None else ""


# --- words ------------------------------------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    """`orders-3, orders-7, orders-9 and 4 more`."""
    if len(names) <= NAMES_SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_SHOWN])} and {len(names) - NAMES_SHOWN} more"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def sentences(impact: Impact) -> list[tuple[str, str]]:
    """The impact in sentences, each with its tone, the worst first."""
    if impact.refused:
        return [(MUTED, f"nothing: {impact.refused}")]
    result = [*_of_partitions(impact), *_of_coordinators(impact), *_of_members(impact)]
    if impact.open_transactions:
        result.append((WARN, f"the transaction of {listed(impact.open_transactions)} stays open"))
    result += [(MUTED, note) for note in impact.notes]
    return result or [(OK, "no leader, coordinator, member or transaction changes")]


def _of_partitions(impact: Impact) -> Iterator[tuple[str, str]]:
    if impact.offline:
        what = _counted(len(impact.offline), "partition has", "partitions have")
        yield ERROR, f"{what} no other in-sync replica → no leader until the broker returns: {listed(impact.offline)}"
    if impact.unwritable:
        what = _counted(len(impact.unwritable), "partition falls", "partitions fall")
        yield ERROR, f"{what} below min.insync.replicas → no acks=all: {listed(impact.unwritable)}"
    moves = len(impact.leaders) - len(impact.offline)
    if moves:
        after = f" after {duration(impact.after_us)}" if impact.after_us else ""
        led = len(impact.led)
        share = f"{f'all {led}' if moves == led else f'{moves} of the {led}'} partitions that it leads"
        what = share if led > 1 else next(name for name, leader in impact.leaders.items() if leader != NO_BROKER)
        if not led and moves > 1:
            what = f"{moves} partitions"
        yield WARN, f"{what}: new leader{after}, {_targets(impact)}"


def _of_coordinators(impact: Impact) -> Iterator[tuple[str, str]]:
    if impact.controller is not None:
        yield WARN, f"controller → {f'broker-{impact.controller}' if impact.controller != NO_BROKER else 'none'}"
    if impact.groups:
        what = _counted(len(impact.groups), "group loses its coordinator", "groups lose their coordinator")
        yield WARN, f"{what}: {listed(impact.groups)}"
    if impact.transactions:
        one, several = "transactional id loses its coordinator", "transactional ids lose their coordinator"
        yield WARN, f"{_counted(len(impact.transactions), one, several)}: {listed(impact.transactions)}"


def _of_members(impact: Impact) -> Iterator[tuple[str, str]]:
    for member, leaving in list(impact.members.items())[:NAMES_SHOWN]:
        when = f"after {duration(leaving.after_us)}" if leaving.after_us else "at once"
        held = f", holding {listed(leaving.holds)}" if leaving.holds else ""
        verb = "is removed" if leaving.reason == RebalanceCause.SESSION_EXPIRED else "leaves"
        yield WARN, f"{member} {verb} {when} ({leaving.reason}){held}"
    if len(impact.members) > NAMES_SHOWN:
        yield WARN, f"and {len(impact.members) - NAMES_SHOWN} more members"
    if impact.rebalances:
        yield WARN, f"{listed(impact.rebalances)} rebalance{'s' if len(impact.rebalances) == 1 else ''}"
    if impact.incompatible:
        verb, whose = ("is", "its") if len(impact.incompatible) == 1 else ("are", "their")
        yield ERROR, f"{listed(impact.incompatible)} {verb} refused and cannot come back (INCONSISTENT_GROUP_PROTOCOL)"
        yield ERROR, f"no assignor that every other member offers is among {whose} own"
    if impact.emptied:
        verb = "has" if len(impact.emptied) == 1 else "have"
        yield WARN, f"{listed(impact.emptied)} {verb} no member left"


def _targets(impact: Impact) -> str:
    """The new leaders, with the number of partitions of each."""
    to: dict[int, int] = {}
    for leader in impact.leaders.values():
        if leader != NO_BROKER:
            to[leader] = to.get(leader, 0) + 1
    if len(to) == 1:
        return f"broker-{next(iter(to))}"
    return ", ".join(f"{count} × broker-{leader}" for leader, count in sorted(to.items()))


def impact_line(impact: Impact) -> Line:
    """All sentences in one line of any length, the worst first."""
    spans: list[Span] = [("would hit: ", MUTED)]
    for index, (tone, words) in enumerate(sentences(impact)):
        spans += [(" · ", MUTED)] if index else []
        spans.append((words, tone))
    return line(*spans)


def preview(
    view: ClusterView,
    names: Names,
    now_us: int,
    text: str,
    session_us: int = BROKER_SESSION_US,
    spec: ScenarioSpec | None = None,
) -> Line:
    """The line for a command that is being typed; empty for incomplete text and for commands without a predictor."""
    try:
        command = parse(text, names)
    except CommandError:
        return ()
    impact = impact_of(view, command, now_us, session_us, spec)
    return impact_line(impact) if impact.refused or type(command) in PREDICTORS else ()
