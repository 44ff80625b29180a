"""A rebalance told in a few sentences: the text of its case file."""

from collections.abc import Iterator

from recordings.spark.charts import phases
from recordings.spark.figures import duration, exact_clock, listed, many
from recordings.spark.report_data import Rebalance
from recordings.spark.verdict import cause_in_words


def story(rebalance: Rebalance) -> str:
    """Why it began, whom it waited for, what it changed and what it cost."""
    return " ".join(_sentences(rebalance))


def _sentences(rebalance: Rebalance) -> Iterator[str]:
    cause = cause_in_words(rebalance)
    yield f"At {exact_clock(rebalance.started_us)} {cause}{_beginning(rebalance)}."
    if rebalance.orphaned_partition_us:
        waited = duration(rebalance.orphaned_partition_us)
        yield f"Until then partitions had gone without an owner for {waited} in all, and nobody knew."
    yield from _barrier(rebalance)
    yield from _costs(rebalance)
    yield from _ending(rebalance)


def _beginning(rebalance: Rebalance) -> str:
    if rebalance.initial:
        return ", and the group was empty: its first barrier stays open for a while, so that others can still come"
    return ", and the group began to rebalance"


def _barrier(rebalance: Rebalance) -> Iterator[str]:
    told = [f"{what} {duration(until - start)}" for start, until, what in phases(rebalance)]
    if rebalance.closed_us is not None and rebalance.waited_for:
        alone = rebalance.members == 1 or rebalance.initial
        last = "" if alone else f"; the last to join was {rebalance.waited_for}, after {duration(rebalance.waited_us)}"
        members = many(rebalance.members or 0, "member")
        yield f"Generation {rebalance.generation} has {members}{last}."
    if told:
        yield f"The coordinator's time went into {listed(told)}."
    if rebalance.barriers > 1:
        yield f"It had to begin {rebalance.barriers} times before it was over."


def _costs(rebalance: Rebalance) -> Iterator[str]:
    if rebalance.moved:
        yield f"{many(rebalance.moved, 'partition')} changed hands."
    if rebalance.stopped_partition_us:
        yield (
            f"Partitions stood still for {duration(rebalance.stopped_partition_us)} in all, from its beginning until"
            f" each had an owner again, and members for {duration(rebalance.stopped_member_us)}."
        )
    if rebalance.reread:
        yield f"{many(rebalance.reread, 'record')} had to be read again, because their commit had not been made."


def _ending(rebalance: Rebalance) -> Iterator[str]:
    if rebalance.ends == "Empty":
        yield "Nobody was left: the group became empty."
    elif rebalance.ends == "coordinator moved":
        yield "It was never finished: its coordinator moved, and members had to begin again at the new one."
    elif rebalance.ends == "unfinished":
        yield "It was not over when the flight was."
