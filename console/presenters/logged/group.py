"""One group as logs tell of it: its state, its named members, its rebalances."""

from cluster.view.logged.state import LoggedGroup, LoggedMember
from console.presenters import states
from console.presenters.formatting import clock, duration, moment, ranges
from console.presenters.list_view import Listing, RowValue
from console.presenters.logged.groups import NOT_LOGGED, UNKNOWN, cause_words, number_words, state_line, took_words
from console.presenters.styled_text import FAINT, MOVING, MUTED, PLAIN, STRONG, Line, Span, line, wrapped
from console.presenters.table import TableColumn, layout

MEMBER_COLUMNS = (
    TableColumn("member", 16, grow=3, most=40),
    TableColumn("joined", 14),
    TableColumn("member id", 20, rank=1, grow=5, most=90),
    TableColumn("owns", 12, rank=2, grow=4, most=40),
    TableColumn("lag", 7, rank=2),
)
REBALANCE_COLUMNS = (
    TableColumn("gen", 7, right=True),
    TableColumn("began", 8, right=True, rank=1),
    TableColumn("cause", 24, grow=3, most=34),
    TableColumn("triggered by", 12, rank=2, grow=1, most=30),
    TableColumn("took", 14, right=True),
    TableColumn("attempts", 8, right=True, rank=3),
    TableColumn("members", 7, right=True, rank=1),
    TableColumn("stopped", 7, right=True, rank=4),
    TableColumn("moved", 7, right=True, rank=4),
)


class LoggedStateListing(Listing):
    """The state of a group with its meaning, and what is unknown of it."""

    title = "group"

    def __init__(self, group: LoggedGroup, now_us: int, width: int) -> None:
        super().__init__(width)
        self._lines = {str(place): row for place, row in enumerate(state_lines(group, now_us, width))}

    def row_keys(self) -> list[str]:
        """One key for each line."""
        return list(self._lines)

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (self._lines[key],)


def state_lines(group: LoggedGroup, now_us: int, width: int) -> list[Line]:
    """State, coordinator and the rebalance under way; then what no line tells."""
    where = UNKNOWN if group.coordinator is None else f"broker-{group.coordinator}"
    number = UNKNOWN if group.generation is None else str(group.generation)
    unit = "epoch" if group.protocol == "consumer" else "generation"
    meaning = states.group(group.state).meaning if group.state is not None else "no line so far tells the state"
    head = line("  ", *state_line(group), (f"  {meaning}", MUTED))
    facts = f"  {group.protocol or UNKNOWN} protocol · {unit} {number} · coordinator {where} · {members_words(group)}"
    rows = [head, line((facts, PLAIN))]
    one = group.under_way
    if one is not None:
        joined = f"{len(one.joined)} new members joined" if one.joined else "no line names a member that joined"
        rows.append(line(("  ↻ ", MOVING), f"{cause_words(one)}, for {duration(now_us - one.began_us)}; {joined}"))
    what = "lag, offsets" if group.owned else "lag, offsets, assignments (they are in clients' logs)"
    rows.append(line((f"  {what}: in no line, so unknown", FAINT)))
    return [part for row in rows for part in wrapped(row, width - 1, indent=4)]


def members_words(group: LoggedGroup) -> str:
    """How many members there are, or how many of them lines have named."""
    named = len(group.members)
    if group.complete:
        return "1 member" if named == 1 else f"{named} members"
    return f"members unknown, {named} named" if named else "members unknown"


class LoggedMembersListing(Listing):
    """The members that lines name."""

    title = "members"
    vacant = line(("no line so far names a member of this group", MUTED))

    def __init__(self, group: LoggedGroup, width: int) -> None:
        super().__init__(width)
        self.members, self.owned = group.members, group.owned
        self.words = members_words(group)
        self.layout = layout(MEMBER_COLUMNS, width)

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def note(self) -> Line:
        """Their number."""
        return line((self.words, MUTED))

    def row_keys(self) -> list[str]:
        """In the order in which they joined."""
        return list(self.members)

    def sortable(self) -> dict[str, RowValue]:
        """By name and by when they joined."""
        return {"member": lambda key: self.members[key].name, "joined": lambda key: self.members[key].since_us}

    def rows(self, key: str) -> tuple[Line]:
        """One member."""
        one = self.members[key]
        named = one.name != UNKNOWN
        cells: list[Line | Span | str] = [
            line((one.name, STRONG) if named else NOT_LOGGED),
            line(NOT_LOGGED) if one.since_us is None else clock(one.since_us, 3),
            line((key, MUTED)) if named else line(NOT_LOGGED),
            self._owns(one),
            line(NOT_LOGGED),
        ]
        return (self.layout.row(cells),)

    def _owns(self, one: LoggedMember) -> Line:
        """What the client's own log says; of several members with one client.id it does not say which."""
        if one.name not in self.owned or sum(1 for other in self.members.values() if other.name == one.name) > 1:
            return line(NOT_LOGGED)
        return line((ranges(self.owned[one.name]) or "nothing", PLAIN))


class LoggedRebalancesListing(Listing):
    """The rebalances in the lines so far, newest first; its key is the instant of its beginning and its place."""

    title = "rebalances"
    newest_first = True
    vacant = line(("no line so far tells of a rebalance of this group", MUTED))

    def __init__(self, group: LoggedGroup, now_us: int, width: int) -> None:
        super().__init__(width)
        self.now_us = now_us
        self.layout = layout(REBALANCE_COLUMNS, width)
        first = group.counted - len(group.rebalances)
        self.by_key = {str(place): one for place, one in reversed(list(enumerate(group.rebalances, first + 1)))}
        self.left_out = first

    def note(self) -> Line:
        """How many earlier ones are not kept."""
        return line((f"and {self.left_out:,} earlier ones", FAINT)) if self.left_out else ()

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """Its place among the group's rebalances."""
        return list(self.by_key)

    def sortable(self) -> dict[str, RowValue]:
        """By duration, attempts and cause."""
        known = self.by_key
        return {
            "took": lambda key: known[key].took_us,
            "attempts": lambda key: known[key].attempts,
            "cause": lambda key: known[key].cause,
        }

    def rows(self, key: str) -> tuple[Line]:
        """One rebalance."""
        one = self.by_key[key]
        tone = PLAIN if one.over else MOVING
        took = took_words(one, self.now_us)
        cells: list[Line | Span | str] = [
            number_words(one.generation),
            moment(one.began_us),
            line((f"{'' if one.over else '↻ '}{one.cause or UNKNOWN}", tone if one.cause else FAINT)),
            line((one.trigger, PLAIN)) if one.trigger else line(NOT_LOGGED),
            line((took, FAINT if took == UNKNOWN else tone)),
            str(one.attempts),
            number_words(one.members),
            line(NOT_LOGGED),
            number_words(one.moved),
        ]
        return (self.layout.row(cells),)
