"""Places of a partition with one false statement each."""

import pytest

from cluster.view.brokers import BrokerView
from cluster.view.state import ClusterView, GroupView, PartitionView
from console.presenters.partitions import ruler, tables
from console.presenters.partitions.ruler import Ruler
from console.presenters.styled_text import Line, line

Patch = pytest.MonkeyPatch


def the_log_is_stable_to_its_high_watermark(patch: Patch) -> None:
    """The bar shows nothing held back."""

    def log_bar(scale: Ruler, partition: PartitionView) -> Line:
        high = scale.place_of(partition.high_watermark)
        return line(("█" * high + "┄" * (scale.cells - high), "plain"))

    patch.setattr(tables, "log_bar", log_bar)


def an_owner_that_is_gone_still_reads(patch: Patch) -> None:
    """The last assigned member is the owner, also after it gave the partition up."""

    def owner_of(view: ClusterView, group: GroupView, name: str) -> tuple[str, int]:
        owner = group.owners.get(name) or group.previous_owners.get(name, "")
        member = view.members.get(owner)
        return owner, member.positions.get(name, -1) if member is not None else -1

    patch.setattr(tables, "owner_of", owner_of)


def the_ruler_begins_at_zero(patch: Patch) -> None:
    """Marks stand where they would in a log that starts at 0 and ends at twice its end."""
    patch.setattr(tables, "ruler_of", lambda one, width: Ruler(0, 2 * one.log_end, max(12, width - ruler.BESIDE)))


def every_follower_has_the_whole_log(patch: Patch) -> None:
    """A follower's log end is the leader's."""

    def log_end(one: PartitionView, broker: BrokerView) -> Line:
        del broker
        return line(str(one.log_end))

    patch.setattr(tables, "_log_end", log_end)


def nothing_is_open(patch: Patch) -> None:
    """No open transaction is listed."""
    patch.setattr(tables.OpenTransactionsListing, "row_keys", lambda _: [])


FALSE_PARTITIONS = {
    the_log_is_stable_to_its_high_watermark: ("stuck-last-stable-offset", 75),
    an_owner_that_is_gone_still_reads: ("eager-vs-cooperative", 45),
    the_ruler_begins_at_zero: ("first-flight", 60),
    every_follower_has_the_whole_log: ("first-flight", 60),
    nothing_is_open: ("stuck-last-stable-offset", 75),
}
"""Each with a flight that shows it, as in `false_presenters.FALSE_PRESENTERS`."""
