"""What a command would hit if it were given now, and words for it.

Told from the view alone, before anything happens, by Kafka's rules of elections and sessions. It looks as far as the
command itself reaches: what else goes wrong meanwhile, nobody knows.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cluster.commands import CommandError, Names
from cluster.commands import catalogue as c
from cluster.view.state import ClusterView
from console.presenters import impact_cluster as to_cluster
from console.presenters import impact_processes as to_processes
from console.presenters.formatting import duration
from console.presenters.impact_model import NO_BROKER, Impact, ImpactModel, MemberRemoval
from console.presenters.styled_text import ERROR, MUTED, OK, WARN, Line, Span, line

__all__ = ["BROKER_SESSION_US", "Impact", "MemberRemoval", "impact_line", "impact_of", "preview", "sentences"]

BROKER_SESSION_US = 9_000_000  # broker.session.timeout.ms, unless the scenario says otherwise
NAMES_SHOWN = 3  # names in a row before `and 7 more`

PREDICTORS: dict[type, Callable[[ImpactModel, Any], None]] = {
    c.Kill: to_processes.kill,
    c.Crash: to_processes.crash,
    c.Stop: to_processes.stop,
    c.Start: to_processes.start,
    c.Restart: to_processes.restart,
    c.Pause: to_processes.pause,
    c.Resume: to_processes.resume,
    c.PauseHeartbeats: to_processes.pause_heartbeats,
    c.Stall: to_processes.stall,
    c.SlowMember: to_processes.slow_member,
    c.Scale: to_processes.scale,
    c.RollingRestart: to_processes.rolling_restart,
    c.Subscribe: to_processes.subscribe,
    c.AbandonTransaction: to_processes.abandon,
    c.FillDisk: to_processes.fill_disk,
    c.Cut: to_cluster.cut,
    c.Hold: to_cluster.cut,
    c.SlowLink: to_cluster.slow_link,
    c.Isolate: to_cluster.isolate,
    c.LoseResponses: to_cluster.lose,
    c.SlowDisk: to_cluster.slow_disk,
    c.Elect: to_cluster.elect,
    c.FailOverController: to_cluster.fail_over,
    c.MoveCoordinator: to_cluster.move_coordinator,
    c.DeleteRecords: to_cluster.delete_records,
    c.AddPartitions: to_cluster.add_partitions,
    c.Seek: to_cluster.seek,
    c.AbortHangingTransaction: to_cluster.abort_hanging,
    c.Nemesis: to_cluster.nemesis,
}
"""What is looked at before each command; those that are not here (`heal`, `release`, `set`, `mark`) injure nothing."""


def impact_of(view: ClusterView, command: c.Command, now_us: int, session_us: int = BROKER_SESSION_US) -> Impact:
    """What a command would hit now; `session_us` is `broker.session.timeout.ms` in µs."""
    impact = Impact(command=c.text_of(command))
    look = PREDICTORS.get(type(command))
    if not view.brokers:
        impact.refused = "the cluster is still being built"
    elif look is not None:
        look(ImpactModel(view, now_us, session_us, impact), command)
    return impact


# --- words ------------------------------------------------------------------------------------------------------------


def listed(names: Sequence[str]) -> str:
    """`orders-3, orders-7, orders-9 and 4 more`."""
    if len(names) <= NAMES_SHOWN + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_SHOWN])} and {len(names) - NAMES_SHOWN} more"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def sentences(impact: Impact) -> list[tuple[str, str]]:
    """What there is to say, the worst first: a tone and the words."""
    if impact.refused:
        return [(MUTED, f"nothing: {impact.refused}")]
    said = [*_of_partitions(impact), *_of_coordinators(impact), *_of_members(impact)]
    if impact.open_transactions:
        said.append((WARN, f"leaves open the transaction of {listed(impact.open_transactions)}"))
    said += [(MUTED, note) for note in impact.notes]
    return said or [(OK, "no leader, coordinator, member or transaction is struck")]


def _of_partitions(impact: Impact) -> Iterator[tuple[str, str]]:
    if impact.offline:
        what = _counted(len(impact.offline), "partition has", "partitions have")
        yield ERROR, f"{what} no other in-sync replica → no leader until it is back: {listed(impact.offline)}"
    if impact.unwritable:
        what = _counted(len(impact.unwritable), "partition falls", "partitions fall")
        yield ERROR, f"{what} below min.insync.replicas → no acks=all: {listed(impact.unwritable)}"
    moves = len(impact.leaders) - len(impact.offline)
    if moves:
        after = f" after {duration(impact.after_us)}" if impact.after_us else ""
        led = len(impact.led)
        share = f"the {led} partitions that it leads" if moves == led else f"{moves} of the {led} that it leads"
        what = share if led > 1 else next(name for name, leader in impact.leaders.items() if leader != NO_BROKER)
        if not led and moves > 1:
            what = f"{moves} partitions"
        yield WARN, f"{what}: new leader{after}, {_targets(impact)}"


def _of_coordinators(impact: Impact) -> Iterator[tuple[str, str]]:
    if impact.controller is not None:
        yield WARN, f"controller → {f'broker-{impact.controller}' if impact.controller != NO_BROKER else 'nobody'}"
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
        yield WARN, f"{member} drops out {when} ({leaving.reason}){held}"
    if len(impact.members) > NAMES_SHOWN:
        yield WARN, f"and {len(impact.members) - NAMES_SHOWN} more members leave"
    if impact.rebalances:
        yield WARN, f"{listed(impact.rebalances)} rebalance{'s' if len(impact.rebalances) == 1 else ''}"
    if impact.emptied:
        yield WARN, f"nobody reads for {listed(impact.emptied)} then"


def _targets(impact: Impact) -> str:
    """How many leaderships go where."""
    to: dict[int, int] = {}
    for leader in impact.leaders.values():
        if leader != NO_BROKER:
            to[leader] = to.get(leader, 0) + 1
    if len(to) == 1:
        return f"broker-{next(iter(to))}"
    return ", ".join(f"{count} × broker-{leader}" for leader, count in sorted(to.items()))


def impact_line(impact: Impact) -> Line:
    """All of it in one line, as long as it may be; the worst first."""
    spans: list[Span] = [("would hit: ", MUTED)]
    for place, (tone, words) in enumerate(sentences(impact)):
        spans += [(" · ", MUTED)] if place else []
        spans.append((words, tone))
    return line(*spans)


def preview(view: ClusterView, names: Names, now_us: int, text: str, session_us: int = BROKER_SESSION_US) -> Line:
    """The line for a command that is being typed; empty while it is none, or one that injures nothing."""
    try:
        command = c.parse(text, names)
    except CommandError:
        return ()
    return impact_line(impact_of(view, command, now_us, session_us)) if type(command) in PREDICTORS else ()
