"""Two recordings compared by what logs can tell: the rebalances of their groups. One of them may be a flight."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from recordings.journal.reader import Recording
from recordings.log_reading.summary import ReadRebalanceRow, tables_of

CLOSE = 0.1
"""Two durations that differ by at most this share of the longer one are alike; so are two below `SHORT_S`."""
SHORT_S = 0.1


class GroupDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A group's rebalances in both recordings (None: one of them does not tell of them).

    `causes`: cause → how many in a, in b. `paired`: rebalances that follow one another with the same cause in both;
    `alike` of them have durations that are known and alike, `timed` durations that are known. `greatest_s`: the
    greatest difference of two durations, None without a pair.
    """

    group: str
    rebalances: tuple[int | None, int | None]
    causes: dict[str, tuple[int, int]]
    total_s: tuple[float, float]
    paired: int
    timed: int
    alike: int
    greatest_s: float | None


class LogsDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Both recordings, their groups, and whether the rebalances are the same: number, causes, durations alike."""

    a: str
    b: str
    equal: bool
    groups: list[GroupDifference]
    warnings: list[str]


def difference_of_logs(a: Path, b: Path, *, salvage: bool = False) -> LogsDifference | None:
    """What differs; None if neither was read from logs. Raises RecordingError."""
    both = [Recording(path, salvage=salvage, logs=True) for path in (a, b)]
    if not any(recording.header.read_from for recording in both):
        return None
    left, right = [_by_group(recording) for recording in both]
    groups = [compared_rows(name, left.get(name), right.get(name)) for name in dict.fromkeys([*left, *right])]
    known = [one for one in groups if one.rebalances != (None, None)]
    equal = bool(known) and all(
        one.rebalances[0] == one.rebalances[1] == one.paired and one.timed == one.alike for one in known
    )
    warnings = [words for recording in both for words in recording.warnings]
    return LogsDifference(a=str(a), b=str(b), equal=equal, groups=groups, warnings=warnings)


def _by_group(recording: Recording) -> dict[str, list[ReadRebalanceRow] | None]:
    """The rebalances of each group; None where no coordinator's line has it."""
    groups, rebalances = tables_of(recording.events())
    return {
        group.group: None if group.rebalances is None else [row for row in rebalances if row.group == group.group]
        for group in groups
    }


def compared_rows(
    name: str, left: Sequence[ReadRebalanceRow] | None, right: Sequence[ReadRebalanceRow] | None
) -> GroupDifference:
    """A group's rebalances in two recordings; None: one of them does not tell of them."""
    one, other = left or (), right or ()
    causes = [Counter(row.cause or "unknown" for row in rows) for rows in (one, other)]
    pairs = paired_rows(one, other)
    timed = [(row.took_s, twin.took_s) for row, twin in pairs if row.took_s is not None and twin.took_s is not None]
    return GroupDifference(
        group=name,
        rebalances=(None if left is None else len(left), None if right is None else len(right)),
        causes={cause: (causes[0][cause], causes[1][cause]) for cause in sorted({*causes[0], *causes[1]})},
        total_s=(_total(one), _total(other)),
        paired=len(pairs),
        timed=len(timed),
        alike=sum(1 for took, twin in timed if alike(took, twin)),
        greatest_s=max((round(abs(took - twin), 6) for took, twin in timed), default=None),
    )


def paired_rows(
    one: Sequence[ReadRebalanceRow], other: Sequence[ReadRebalanceRow]
) -> list[tuple[ReadRebalanceRow, ReadRebalanceRow]]:
    """Rebalances of one cause that stand in the same order in both."""
    matcher = SequenceMatcher(None, [row.cause for row in one], [row.cause for row in other], autojunk=False)
    return [
        (one[block.a + step], other[block.b + step])
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    ]


def alike(took_s: float, twin_s: float) -> bool:
    """Whether two durations are alike."""
    longer = max(took_s, twin_s)
    return longer <= SHORT_S or abs(took_s - twin_s) <= CLOSE * longer


def _total(rows: Sequence[ReadRebalanceRow]) -> float:
    return round(sum(row.took_s or 0.0 for row in rows), 6)
