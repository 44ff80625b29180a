"""The poll loops of a group's members on the raster's axis of time."""

from cluster.view.state import ClusterView, GroupView, MemberView
from console.presenters.activity_lanes import PHASES, phases_of
from console.presenters.awaited_members import members_of
from console.presenters.list_view import Listing
from console.presenters.members import identity
from console.presenters.raster.axis import TimeAxis, edges, ruled_runs
from console.presenters.raster.listing import label_width
from console.presenters.styled_text import MUTED, Line, Span, fit, line, merged, middle


class RasterLanesListing(Listing):
    """One lane for each member. The view keeps the last two minutes of a poll loop; before that a lane is empty."""

    title = "poll loops"
    vacant = line(("no member is declared", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, axis: TimeAxis, width: int) -> None:
        super().__init__(width)
        self.view, self.axis = view, axis
        self.label = label_width(width)
        self.members = {member.member: place for place, member in enumerate(members_of(view, group.group))}
        self.rules = edges(axis, group.history.barriers)

    def note(self) -> Line:
        """The legend, and what is kept."""
        signs = line("━", (" polls  ", MUTED), "▓", (" processes  ", MUTED), "░", (" joins  ", MUTED))
        signs = line(*signs, "═", (" syncs  ", MUTED), "▒", (" no poll()  ", MUTED))
        return (*signs, ("×", MUTED), (" down  ", MUTED), ("kept for 2 minutes", MUTED))

    def row_keys(self) -> list[str]:
        """The members' names, in the scenario's order."""
        return list(self.members)

    def rows(self, key: str) -> tuple[Line]:
        """The member's letter, name and lane."""
        letter, hue = identity(self.members[key])
        name = f" {middle(key, self.label - 3)}".ljust(self.label - 1)
        return (fit(line("  ", (letter, hue), name, *lane(self.view.members[key], self.axis, self.rules)), self.width),)


def lane(member: MemberView, axis: TimeAxis, rules: set[int]) -> Line:
    """The phases of a poll loop up to now; barriers are ruled through polling and empty cells."""
    known = axis.known
    cells = phases_of(member, axis.now_us, axis.first_us, axis.cell_us, known)
    spans: list[Span] = []
    for start, end, phase, is_ruled in ruled_runs(cells, rules):
        glyph, tone, _, _ = PHASES[phase]
        spans.append(("│", tone) if is_ruled and phase in {"", "reading"} else (glyph * (end - start), tone))
    return merged(spans)
