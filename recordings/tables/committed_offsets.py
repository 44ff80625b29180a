"""The rows of a summary about committed offsets that went back: which commit did it, after what, and what it cost."""

import msgspec

from cluster.view import ClusterView
from cluster.view.committed import NO_OFFSET

SECOND_US = 1_000_000


class CommittedOffsetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A committed offset that went back, from `before` to `after` (None: it is gone).

    `member` and `generation` are the commit's; "" and -1 for a transaction, and where a coordinator loaded the group.
    `cause`: seek, earliest, latest, by_duration or truncated; assign, where a consumer with assign() commits its own
    position; else late (an older commit that was served after a newer one) or loaded. `read_again`: records below
    `before` that members finished since then.
    """

    at_s: float
    group: str
    partition: str
    before: int
    after: int | None
    member: str
    generation: int
    cause: str
    read_again: int


def committed_offset_rows(view: ClusterView) -> list[CommittedOffsetRow]:
    """The last 500 of each group, in time order."""
    rows = [
        CommittedOffsetRow(
            at_s=each.at_us / SECOND_US,
            group=name,
            partition=each.partition,
            before=each.before,
            after=None if each.after == NO_OFFSET else each.after,
            member=each.member,
            generation=each.generation,
            cause=each.cause,
            read_again=each.read_again,
        )
        for name, group in view.groups.items()
        for each in group.steps_back
    ]
    return sorted(rows, key=lambda row: row.at_s)
