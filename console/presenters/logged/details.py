"""One rebalance as a coordinator's lines tell of it."""

from cluster.view.logged.state import LoggedGroup, LoggedRebalance, LogsView
from console.presenters.formatting import clock, duration
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.logged.groups import NOT_LOGGED, UNKNOWN, cause_words, date_words, took_words
from console.presenters.styled_text import ACCENT, MUTED, PLAIN, STRONG, Line, line, wrapped

NEVER_LOGGED = "the time of partitions without an owner, re-read records"


def rebalance_at(group: LoggedGroup, key: str) -> LoggedRebalance | None:
    """The rebalance with this place among its group's; None for one that is not kept, or not yet told."""
    place = int(key) - 1 - (group.counted - len(group.rebalances)) if key.isdecimal() else -1
    return group.rebalances[place] if 0 <= place < len(group.rebalances) else None


def details_lines(logs: LogsView, group: LoggedGroup, key: str, now_us: int, width: int) -> list[Line]:
    """All lines on one rebalance."""
    one = rebalance_at(group, key)
    if one is None:
        return [line(("No line so far tells of this rebalance, or it is kept no more.", MUTED))]
    return [
        *wrapped(line((cause_words(one), STRONG), (f"  {_generation(group, one)}", MUTED)), width),
        *_instants(logs, one, now_us), (),
        line(("members", ACCENT)), *_members(one, width), (),
        line(("in the coordinator's log", ACCENT)),
        *wrapped(line("  ", (one.detail, PLAIN) if one.detail else NOT_LOGGED), width, indent=2), (),
        line(("in no line, so unknown", ACCENT)),
        *wrapped(line(f"  {'' if one.moved is not None else 'moved partitions, '}{NEVER_LOGGED}"), width, indent=2),
    ]  # fmt: skip


def _generation(group: LoggedGroup, one: LoggedRebalance) -> str:
    unit = "epoch" if group.protocol == "consumer" else "generation"
    before = f" after {one.before}" if one.before is not None else ""
    return (
        f"{unit} {UNKNOWN if one.generation is None else one.generation}{before}, coordinator broker-{one.coordinator}"
    )


def _instants(logs: LogsView, one: LoggedRebalance, now_us: int) -> list[Line]:
    """Its beginning, its barrier and its end, with the logs' dates."""
    rows = [_instant("began", logs, one.began_us)]
    if one.barrier_us is not None:
        rows.append(_instant(f"all joined, {duration(one.barrier_us - one.began_us)} later", logs, one.barrier_us))
    if one.assigned_us is not None:
        rows.append(_instant("the coordinator had the assignment", logs, one.assigned_us))
    more = f", in {one.attempts} attempts" if one.attempts > 1 else ""
    extended = f"; the barrier was extended {one.extensions} times" if one.extensions else ""
    return [*rows, line((f"  took {took_words(one, now_us)}{more}{extended}", PLAIN))]


def _instant(what: str, logs: LogsView, at_us: int) -> Line:
    date = date_words(logs, at_us)
    return line((f"  {clock(at_us, 3)}  ", MUTED), (f"{date}  " if date else "", MUTED), (what, PLAIN))


def _members(one: LoggedRebalance, width: int) -> list[Line]:
    rows = [line(f"  {one.moved} partitions moved")] if one.moved is not None else []
    rows += [line(("  their number: ", PLAIN), NOT_LOGGED if one.members is None else (str(one.members), PLAIN))]
    rows += [line(f"  {name} joined at {clock(at_us, 3)}") for name, at_us in one.joined.items()]
    rows += [line(f"  {name} was removed: {reason}") for name, reason in one.removed.items()]
    return [part for row in rows for part in wrapped(row, width, indent=4)]


class LoggedDetailsListing(Listing):
    """The details of one rebalance in a panel, line by line."""

    def __init__(self, logs: LogsView, group: LoggedGroup, key: str, now_us: int, width: int) -> None:
        super().__init__(width)
        self.title = f"rebalance of {group.group}"
        rows = details_lines(logs, group, key, now_us, min(width - 4, 100))
        self._lines = {f"{CONTINUED}{place}": row for place, row in enumerate(rows)}

    def row_keys(self) -> list[str]:
        """One key for each line."""
        return list(self._lines)

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (line("  ", *self._lines[key]),)
