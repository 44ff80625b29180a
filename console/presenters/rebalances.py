"""Completed rebalances and the current one as a table."""

from cluster.view.rebalances import RebalanceView
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters import rebalance_causes
from console.presenters.consumer_groups.causes import revocation_words
from console.presenters.consumer_groups.reconciliation import awaited_of
from console.presenters.formatting import count, duration, moment, partition_seconds
from console.presenters.list_view import Listing, RowValue
from console.presenters.styled_text import FAINT, MOVING, MUTED, PLAIN, WARN, Line, Span, line
from console.presenters.table import TableColumn, layout

NOW = "now"

COLUMNS = (
    TableColumn("gen", 4, right=True),
    TableColumn("began", 8, right=True, rank=1),
    TableColumn("cause", 20, grow=3, most=26),
    TableColumn("triggered by", 12, rank=2, grow=1, most=18),
    TableColumn("took", 7, right=True),
    TableColumn("stopped", 7, right=True, rank=1),
    TableColumn("moved", 5, right=True, rank=2),
    TableColumn("re-read", 7, right=True, rank=2),
    TableColumn("waited for", 12, rank=4, grow=1, most=24),
)

EPOCH_COLUMNS = (TableColumn("epoch", 5, right=True), *COLUMNS[1:])


class RebalancesListing(Listing):
    """Newest first; the current rebalance on top."""

    title = "rebalances"
    newest_first = True
    vacant = line(("none yet: the first one starts when a member joins", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.group, self.now_us = view, group, now_us
        self.layout = layout(COLUMNS if group.consumer is None else EPOCH_COLUMNS, width)
        # That of this frame: a panel that changes its size draws again while the view changes.
        self.open_rebalance = group.under_way
        self.by_key = {one.key: one for one in reversed(group.rebalances)}

    def note(self) -> Line:
        """The unit of the column `stopped`."""
        return line(("stopped: unowned partition-seconds", FAINT)) if self.width >= 80 else ()

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """`now` for a current rebalance, then the key of each completed one."""
        return [*([NOW] if self.open_rebalance is not None else []), *self.by_key]

    def sortable(self) -> dict[str, RowValue]:
        """By cost; the rebalance under way has none yet."""
        known = self.by_key
        return {
            "took": lambda key: known[key].took_us if key in known else None,
            "stopped": lambda key: known[key].stopped_partition_us if key in known else None,
            "moved": lambda key: known[key].moved if key in known else None,
            "re-read": lambda key: known[key].reread if key in known else None,
            "cause": lambda key: known[key].cause if key in known else None,
        }

    def rows(self, key: str) -> tuple[Line]:
        """One rebalance."""
        if key == NOW:
            return (self._under_way(),)
        one = self.by_key[key]
        cells: list[Line | Span | str] = [
            str(one.generation),
            moment(one.started_us),
            line((one.cause, PLAIN)),
            one.trigger,
            duration(one.took_us),
            _costs(partition_seconds(one.stopped_partition_us), one.stopped_partition_us),
            _costs(count(one.moved), one.moved),
            _costs(count(one.reread), one.reread),
            line((_waited(one), MUTED)),
        ]
        return (self.layout.row(cells),)

    def _under_way(self) -> Line:
        barrier = self.open_rebalance
        assert barrier is not None
        missing = awaited_of(self.view, self.group, self.now_us)
        closed = self.group.consumer is not None or barrier.completed_us != NEVER
        after = self.group.generation + (0 if closed else 1)
        cells: list[Line | Span | str] = [
            (str(after), MOVING),
            moment(barrier.started_us),
            line(("↻ " + barrier.cause, MOVING)),
            barrier.trigger,
            line((duration(self.now_us - barrier.started_us), MOVING)),
            "",
            "",
            "",
            line((", ".join(member for member, _ in missing), WARN)),
        ]
        return self.layout.row(cells)


def _costs(shown: str, exact: int) -> Line:
    return line((shown, PLAIN)) if exact else line(("0", FAINT))


def _waited(one: RebalanceView) -> str:
    if one.reconciliation is not None:
        return revocation_words(one)
    if one.initial:
        return "initial delay"
    if not one.waited_for or not one.waited_us:
        return one.waited_for
    how = "" if rebalance_causes.joined_last(one) else f" ({rebalance_causes.departure(one)})"
    return f"{one.waited_for} {duration(one.waited_us)}{how}"
