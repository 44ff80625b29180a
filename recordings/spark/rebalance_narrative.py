"""The text of a rebalance: cause, participants, phases, cost, end."""

from collections.abc import Iterator

from recordings.spark.charts import phases
from recordings.spark.formatting import duration, exact_clock, many, partition_time, times
from recordings.spark.rebalance_causes import cause_in_words
from recordings.spark.report_model import ABANDONED, CONSUMER, CONVERTED, Rebalance


def narrative(rebalance: Rebalance) -> str:
    """Its cause, the member it waited for, the partitions that moved and its cost."""
    return " ".join(_sentences(rebalance))


def _sentences(rebalance: Rebalance) -> Iterator[str]:
    yield f"At {exact_clock(rebalance.started_us)} {cause_in_words(rebalance)}{_beginning(rebalance)}."
    if rebalance.orphaned_partition_us:
        waited = partition_time(rebalance.orphaned_partitions, rebalance.orphaned_partition_us)
        yield f"Before the rebalance begins, {waited} have no owner."
    yield from (_targets if rebalance.protocol == CONSUMER else _barrier)(rebalance)
    yield from _costs(rebalance)
    yield from _ending(rebalance)


def _beginning(rebalance: Rebalance) -> str:
    if rebalance.protocol == CONSUMER:
        empty = ", and the group is Empty: the coordinator computes its first target assignment at once"
        return empty if rebalance.initial else ", and the group epoch rises"
    if rebalance.initial:
        return ", and the group is Empty: the join barrier stays open for group.initial.rebalance.delay.ms"
    return ", and the group begins to rebalance"


def _barrier(rebalance: Rebalance) -> Iterator[str]:
    if rebalance.closed_us is not None and rebalance.waited_for:
        alone = rebalance.members == 1 or rebalance.initial
        last = "" if alone else f"; {rebalance.waited_for} joins last, after {duration(rebalance.waited_us)}"
        members = many(rebalance.members or 0, "member")
        yield f"Generation {rebalance.generation} has {members}{last}."
    spent = [f"{what} {duration(until - start)}" for start, until, what in phases(rebalance)]
    if spent:
        yield f"Phases: {' · '.join(spent)}."
    if rebalance.barriers > 1:
        yield f"The join barrier reopens: it takes {rebalance.barriers} attempts to complete."


def _targets(rebalance: Rebalance) -> Iterator[str]:
    """The way of the consumer protocol: epochs, the target assignment, members that revoke partitions first."""
    yield f"Group epoch {rebalance.generation} has {many(rebalance.members or 0, 'member')}."
    if rebalance.barriers > 1:
        yield f"The group epoch rises {times(rebalance.barriers)} meanwhile."
    spent = [f"{what} {duration(until - start)}" for start, until, what in phases(rebalance)]
    if spent:
        yield f"States: {' · '.join(spent)}."
    if rebalance.waited_for:
        yield f"{rebalance.waited_for} is the slowest to revoke its partitions: {duration(rebalance.waited_us)}."


def _costs(rebalance: Rebalance) -> Iterator[str]:
    if rebalance.moved:
        yield f"{many(rebalance.moved, 'partition')} {'moves' if rebalance.moved == 1 else 'move'} to another member."
    if rebalance.stopped_partition_us:
        stopped = partition_time(rebalance.stopped_partitions, rebalance.stopped_partition_us)
        paused = duration(rebalance.stopped_member_us)
        members = f"members pause for {paused} in all" if rebalance.stopped_member_us else "no member pauses"
        yield f"During the rebalance {stopped} have no owner; {members}."
    if rebalance.reread:
        are = "is re-read: its offset is" if rebalance.reread == 1 else "are re-read: their offsets are"
        yield f"{many(rebalance.reread, 'record')} {are} not committed."


def _ending(rebalance: Rebalance) -> Iterator[str]:
    if rebalance.ends == "Empty":
        yield "No member is left: the group becomes Empty."
    elif rebalance.ends == CONVERTED:
        yield "It does not complete: the group changes to another group protocol."
    elif rebalance.ends == ABANDONED and rebalance.protocol == CONSUMER:
        yield "It does not complete: the next coordinator finds the group without it in its log."
    elif rebalance.ends == ABANDONED:
        yield "It does not complete: the coordinator moves, and members rejoin at the new one."
    elif rebalance.ends == "unfinished":
        yield "It is not complete when the flight ends."
