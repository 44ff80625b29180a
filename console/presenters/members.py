"""The members of a group: two lanes, three clocks and the owned partitions of each."""

from cluster.view.document import member_lag
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from console.presenters import states
from console.presenters.active_faults import fault_label
from console.presenters.activity_lanes import BUSY_US, LANE_SECONDS, heartbeat_lane, poll_lane
from console.presenters.awaited_members import awaited_ids, heartbeat_due_us, heartbeat_late_us, members_of, poll_age_us
from console.presenters.consumer_groups.reconciliation import awaited_members
from console.presenters.coordinator_status import is_up
from console.presenters.formatting import UNKNOWN, bar, count, countdown, duration, ranges, setting
from console.presenters.list_view import RowValue, WorstFirstListing
from console.presenters.styled_text import ERROR, FAINT, HUES, MUTED, OK, PLAIN, WARN, Line, Span, line, linked, middle
from console.presenters.table import TableColumn, layout

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
CLOCK_BAR, CLOCK_WORDS = 6, 5

NAME, LANE, HEARTBEAT, SESSION, POLL, LAG, OWNS = range(7)
NAME_WIDTHS = (11, 24)


STATE_WIDTH = 15  # `↻ ACKNOWLEDGING`
LANE_WIDTH = 15


def columns(name_width: int, lane_width: int = LANE_WIDTH) -> tuple[TableColumn, ...]:
    """The columns for names of a width; the lane takes most of the remaining width."""
    return (
        TableColumn("member", name_width),
        TableColumn("", lane_width, grow=16),
        TableColumn("heartbeat", 9, rank=2),
        TableColumn("session", 12, rank=1),
        TableColumn("poll", 12, rank=1),
        TableColumn("unread", 6, rank=4, right=True),
        TableColumn("owns", 13, rank=5, grow=4, most=44),
    )


def identity(place: int) -> tuple[str, str]:
    """The letter and the hue of the member at a place in its group."""
    return LETTERS[place % len(LETTERS)], f"hue-{place % HUES}"


class MembersListing(WorstFirstListing):
    """Two lines for each member: the poll loop with its clocks, the heartbeat thread with their limits.

    `brief`: only the first line, with the glyph of the member's state before its name.
    """

    title = "members"
    row_height = 2
    vacant = line(("no member is declared; ", MUTED), ("scale", PLAIN), (" the group to start members", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, now_us: int, width: int, *, brief: bool = False) -> None:
        super().__init__(width)
        self.view, self.group, self.now_us = view, group, now_us
        self.row_height = 1 if brief else 2
        self.members = members_of(view, group.group)
        self.places = {member.member: place for place, member in enumerate(self.members)}
        self.ids = {name: member_id for member_id, name in group.members.items()}
        self.awaited, self.answers = _awaited(view, group, now_us), is_up(view, group)
        self.order([member.member for member in self.members])
        longest = max((len(member.member) for member in self.members), default=0) + (4 if brief else 2)
        migrated = any(member.state.isupper() for member in self.members)  # its group may be a classic one by now
        least = STATE_WIDTH if migrated or group.consumer is not None else NAME_WIDTHS[0]
        self.columns = columns(max(least, min(NAME_WIDTHS[1], longest)), LANE_WIDTH if group.consumer is None else 13)
        self.layout = layout(self.columns, width)

    def sortable(self) -> dict[str, RowValue]:
        """By unread records, the age of the last poll and what it owns; else in the scenario's order."""
        view, now_us = self.view, self.now_us
        return {
            "unread": lambda key: member_lag(view, view.members[key]),
            "poll": lambda key: poll_age_us(view.members[key], now_us) if view.members[key].alive else None,
            "owns": lambda key: len(view.members[key].owned),
            "member": str,
        }

    def rank(self, key: str) -> int | None:
        """The members that the group waits for, then those in it that do not run, then those that are frozen."""
        member = self.view.members[key]
        if key in self.awaited:
            return 0
        if key in self.ids and not member.alive:
            return 1
        return 2 if member.alive and (member.paused or member.heartbeats_paused) else None

    def note(self) -> Line:
        """What `unread` counts, the number of members in the group and of running members."""
        alive = sum(1 for member in self.members if member.alive)
        counted = ("unread: past the position · " if self.layout.width_of(LAG) else "", FAINT)
        return line(counted, (f"{len(self.group.members)} in the group, {alive} of {len(self.members)} run", MUTED))

    def header(self) -> Line:
        """The columns' titles; the lane's title shows its length and the direction of time."""
        width = self.layout.width_of(LANE)
        what = "poll loop" if self.row_height == 1 else "poll loop, heartbeats below"
        title = f"-{LANE_SECONDS} s" + (what if width > len(what) + 9 else "").center(width - 8)
        cells: list[Line | Span | str] = [
            ((linked(column.title, "column", column.title), MUTED),) for column in self.columns
        ]
        cells[LANE] = ((title.ljust(width - 3) + "now", MUTED),)
        return self.layout.row(cells)

    def rows(self, key: str) -> tuple[Line, ...]:
        """The lines of one member."""
        member = self.view.members[key]
        letter, hue = identity(self.places[key])
        width = self.layout.width_of(LANE)
        owns = _owned(member)
        room = self.layout.width_of(OWNS)
        first, rest = _split(owns, room)
        heartbeat, session, poll = self._clocks(member)
        state = self._state(member)
        brief = self.row_height == 1
        sign = line((state[0][0][0] + " ", state[0][1])) if brief else ()
        if brief:
            first = owns
        top: list[Line | Span | str] = [
            line((letter + " ", hue), *sign, middle(key, self.layout.width_of(NAME) - (4 if brief else 2))),
            poll_lane(member, self.now_us, width),
            heartbeat[0],
            session[0],
            poll[0],
            count(member_lag(self.view, member)) if member.owned else ((UNKNOWN, FAINT),),
            first,
        ]
        if brief:
            return (self.layout.row(top),)
        under: list[Line | Span | str] = [
            state,
            heartbeat_lane(member, member.heartbeats, self.now_us, width),
            heartbeat[1],
            session[1],
            poll[1],
            "",
            rest,
        ]
        return self.layout.row(top), self.layout.row(under)

    def _state(self, member: MemberView) -> Line:
        if member.member in self.awaited:
            return line(("◀ awaited", WARN))
        state = states.member(member.state)
        if not member.activity:
            return line(("○ not up", MUTED))
        if not member.alive and member.instance_id and member.member in self.ids:
            return line(("○ away", WARN))
        if not member.alive:
            return line((f"{state.glyph} {member.state}", state.tone))
        if member.paused:
            return line(("‖ frozen", WARN))
        if self.now_us < member.starting_until_us:
            return line(("○ starting", MUTED))
        barrier = self.group.open_rebalance
        if barrier is not None and member.member_id in barrier.joined and barrier.completed_us == NEVER:
            return line(("✓ joined", states.GROUP["PreparingRebalance"].tone))
        label = (
            fault_label(self.view, member.member) if self.view.faults and member.state in {"Stable", "STABLE"} else ""
        )
        if label:
            return line((f"▲ {label}", WARN))
        return line((f"{state.glyph} {member.state}", state.tone))

    def _clocks(self, member: MemberView) -> tuple[tuple[Line, Line], ...]:
        if not member.alive and member.member not in self.ids:
            nothing = line((UNKNOWN, FAINT)), ()
            return nothing, nothing, nothing
        return self._heartbeat(member), self._session(member), self._poll(member)

    def _heartbeat(self, member: MemberView) -> tuple[Line, Line]:
        interval = setting(member.heartbeat_interval_ms)
        under = line((f"every {interval}" if len(interval) < 4 else f"of {interval}", FAINT))
        if not member.alive:
            return line(("✖ silent", ERROR)), under
        if member.paused or member.heartbeats_paused:
            return line(("‖ paused", WARN)), under
        if self.now_us < member.starting_until_us:
            return line((UNKNOWN, FAINT)), under
        if member.state == "Joining":  # Kafka's thread is suspended until JoinGroup is answered
            return line(("suspended", MUTED)), line(("in a join", FAINT))
        due_us = heartbeat_due_us(member)
        if due_us == NEVER or member.generation < 0:
            return line((UNKNOWN, FAINT)), under
        if member.coordinator == NEVER:  # the thread sends the next heartbeat when it has found the coordinator
            return line(("suspended", MUTED)), line(("no coord.", FAINT))
        late_us = heartbeat_late_us(member, self.now_us)
        if late_us:
            return line((f"▲ {duration(late_us)}", WARN)), line(("late", WARN))
        return line((f"in {countdown(due_us - self.now_us)}", PLAIN)), under

    def _session(self, member: MemberView) -> tuple[Line, Line]:
        limit_us = member.session_timeout_ms * 1_000
        under = line((f"of {setting(limit_us // 1_000)}", FAINT))
        member_id = self.ids.get(member.member)
        if member_id is None:
            return line((UNKNOWN, FAINT)), under
        if not self.answers:  # sessions end with their coordinator; the next one starts a new session for each member
            return line(("suspended", MUTED)), line(("no coord.", FAINT))
        deadline_us = self.group.session_deadlines_us.get(member_id, NEVER)
        if deadline_us == NEVER:
            return line(("suspended", MUTED)), line(("during join", FAINT))
        left_us = max(0, deadline_us - self.now_us)
        if self.group.open_rebalance is not None and member_id in self.group.open_rebalance.newcomers:
            return line((countdown(left_us), PLAIN)), line(("join limit", FAINT))  # no session before its answer
        return _drain(left_us, limit_us), under

    def _poll(self, member: MemberView) -> tuple[Line, Line]:
        limit_us = member.max_poll_interval_ms * 1_000
        under = line((f"of {setting(limit_us // 1_000)}", FAINT))
        if not member.alive:
            return line((UNKNOWN, FAINT)), under
        if self.now_us < member.starting_until_us:
            return line((f"in {countdown(member.starting_until_us - self.now_us)}", MUTED)), line(("first poll", FAINT))
        age_us = poll_age_us(member, self.now_us)
        if age_us < BUSY_US:
            return line(("polling", MUTED)), under
        share = age_us / limit_us if limit_us else 0.0
        tone = ERROR if share > 0.75 else WARN if share > 0.25 else OK
        return _gauged(share, duration(age_us), tone), under


def _awaited(view: ClusterView, group: GroupView, now_us: int) -> set[str]:
    """The names of the members that the group waits for."""
    if group.consumer is None:
        return awaited_ids(view, group, now_us)
    return {one.member for one in awaited_members(view, group, now_us)}


def _drain(left_us: int, limit_us: int) -> Line:
    share = left_us / limit_us if limit_us else 0.0
    tone = ERROR if share < 0.25 else WARN if share < 0.6 else OK
    return _gauged(share, countdown(left_us), tone)


def _gauged(share: float, words: str, tone: str) -> Line:
    """A bar and its number; a number with hours shortens the bar."""
    width = CLOCK_BAR - max(0, len(words) - CLOCK_WORDS)
    return line((bar(share, width), tone), (" " + words, tone if tone != OK else PLAIN))


def _owned(member: MemberView) -> str:
    """`orders 0-2 · paused orders 1`."""
    paused = f" · paused {ranges(list(member.paused_partitions))}" if member.paused_partitions else ""
    return ranges(list(member.owned)) + paused


def _split(text: str, width: int) -> tuple[str, str]:
    """Split text into two lines at the end of a topic."""
    if len(text) <= width:
        return text, ""
    place = text.rfind(" · ", 0, width + 3)
    if place < 0:
        return text, ""
    return text[:place], text[place + 3 :]
