"""Rows of a table that one of Kafka's tools has printed: cells padded to their titles, one blank between them."""

import re
from typing import Final

_TITLES: Final = frozenset({
    "GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
    "CLIENT-ID", "GROUP-INSTANCE-ID", "#PARTITIONS", "ASSIGNMENT", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT",
    "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED", "COORDINATOR", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH",
    "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS", "TYPE", "PROTOCOL",
})  # fmt: skip
"""Source: `ConsumerGroupCommand.printOffsets`, `printMembers`, `printStates`, `listGroups`, since release 2.x."""
_FIRST: Final = frozenset({"GROUP", "TOPIC", "CONSUMER-ID", "COORDINATOR"})
"""Releases before 2.3 print one group, and no column of its name."""
_ID: Final = re.compile(r"\(\d+\)")
_COORDINATOR: Final = "COORDINATOR (ID)"


class PrintedTable:
    """The titles of a table, and where each begins."""

    def __init__(self, line: str) -> None:
        shown = line.replace(_COORDINATOR, "COORDINATOR".ljust(len(_COORDINATOR)))
        self.titles = shown.split()
        starts = [0, *[word.start() for word in re.finditer(r"\S+", shown)][1:]]
        self._slices = [slice(*ends) for ends in zip(starts, [*starts[1:], None], strict=True)]

    @staticmethod
    def begins(line: str) -> bool:
        """Whether a line has the titles of a table."""
        words = line.replace(_COORDINATOR, "COORDINATOR").split()
        return len(words) > 1 and words[0] in _FIRST and _TITLES.issuperset(words)

    def row(self, line: str) -> dict[str, str] | None:
        """The cells of a line by their titles; None when it has not as many.

        Words are counted first: a cell that is longer than its column moves all behind it. A group's name with blanks,
        or a cell without a word, leaves the columns.
        """
        words = line.split()
        place = self.titles.index("COORDINATOR") if "COORDINATOR" in self.titles else len(words)
        if _ID.fullmatch("".join(words[place + 1 : place + 2])) is not None:
            words[place : place + 2] = [f"{words[place]} {words[place + 1]}"]
        if len(words) == len(self.titles):
            return dict(zip(self.titles, words, strict=True))
        starts = [each.start for each in self._slices]
        if len(line) <= starts[-1] or any(line[start - 1].strip() for start in starts[1:]):
            return None
        return {title: line[where].strip() for title, where in zip(self.titles, self._slices, strict=True)}
