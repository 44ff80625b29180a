"""A table as it is seen: the cell of a row under a title of its header."""


class Table:
    """Cells of a row by the titles of its header; columns that are not shown are None."""

    def __init__(self, header: str, row: str, right: dict[str, int], left: tuple[str, ...]) -> None:
        self.header, self.row, self._right = header, row, right
        self._left = sorted((header.index(name), name) for name in left if name in header)

    def cell(self, name: str) -> str | None:
        """The cell under a title."""
        if name not in self.header:
            return None
        if name in self._right:
            end = self.header.index(name) + len(name)
            return self.row[max(0, end - self._right[name]) : end].strip()
        begin = self.header.index(name)
        starts = [at for at, _ in self._left if at > begin]
        starts += [self.header.index(one) + len(one) - wide for one, wide in self._right.items() if one in self.header]
        end = min((at for at in starts if at > begin), default=len(self.row))
        return self.row[begin:end].strip("\n").rstrip()
