"""The members of a group of the new protocol as its coordinator keeps them, the awaited ones first."""

from cluster.view.rebalances import ConsumerGroupMemberView, ConsumerGroupView
from cluster.view.state import NEVER, ClusterView, GroupView
from console.presenters import states
from console.presenters.consumer_groups.reconciliation import (
    AwaitedMember,
    awaited_members,
    for_words,
    held_by_others,
    is_reconciled,
    reconciled_members,
)
from console.presenters.formatting import UNKNOWN, countdown, ranges
from console.presenters.list_view import Listing
from console.presenters.styled_text import FAINT, MUTED, PLAIN, WARN, Line, Span, line, middle
from console.presenters.table import TableColumn, for_names, layout

COLUMNS = (
    TableColumn("member", 11, grow=1, most=24),
    TableColumn("epoch", 9, right=True),
    TableColumn("state", 23),
    TableColumn("assigned", 14, rank=2, grow=2, most=44),
    TableColumn("still to do", 20, grow=4),
    TableColumn("fenced in", 9, rank=1, right=True),
)
MIXED_COLUMNS = (*COLUMNS[:2], TableColumn("protocol", 8), *COLUMNS[2:])
"""The columns while a migration is under way: some members still speak the classic protocol."""
AWAY = -2


class ReconciliationListing(Listing):
    """One line for each member id: its epoch, its state, its partitions, what it must revoke and for which member."""

    title = "reconciliation"
    vacant = line(("no member is in the group", MUTED))

    def __init__(self, view: ClusterView, group: GroupView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.group, self.now_us = group, now_us
        self.consumer = group.consumer or ConsumerGroupView()
        self.awaited = {one.member_id: one for one in awaited_members(view, group, now_us)}
        unfinished = [
            member_id
            for member_id, member in self.consumer.members.items()
            if member_id not in self.awaited and not is_reconciled(self.consumer, member)
        ]
        self.keys = list(dict.fromkeys((*self.awaited, *unfinished, *self.consumer.members)))
        self.classic = sum(1 for member in self.consumer.members.values() if member.classic)
        self.layout = layout(for_names(MIXED_COLUMNS if self.classic else COLUMNS, map(self.name_of, self.keys)), width)

    def note(self) -> Line:
        """How many members have their targets, and how many are classic ones."""
        done, members = reconciled_members(self.consumer), len(self.consumer.members)
        classic = f" · {self.classic} classic" if self.classic else ""
        return line((f"reconciled {done} of {members}{classic}", MUTED))

    def header(self) -> Line:
        """The columns' titles."""
        return self.layout.header()

    def row_keys(self) -> list[str]:
        """Member ids: the awaited members, those that wait for others, then those with their targets."""
        return self.keys

    def name_of(self, key: str) -> str:
        """The client id of a member id."""
        return self.group.members.get(key, key)

    def rows(self, key: str) -> tuple[Line]:
        """One member."""
        member = self.consumer.members[key]
        state = states.member_at_coordinator(member.state)
        left = countdown(member.fenced_at_us - self.now_us) if member.fenced_at_us != NEVER else ""
        cells: list[Line | Span | str] = [
            line((middle(self.name_of(key), self.layout.width_of(0)), WARN if key in self.awaited else PLAIN)),
            self._epoch(member),
            *(((protocol_of(member), WARN if member.classic else PLAIN),) if self.classic else ()),
            line((f"{state.glyph} {member.state}", state.tone)),
            ranges(list(member.assigned)),
            self._still_to_do(key),
            line((left, WARN)) if left else ((UNKNOWN, FAINT),),
        ]
        return (self.layout.row(cells),)

    def _epoch(self, member: ConsumerGroupMemberView) -> Line:
        """`7`; `5 (-2)` of a member two epochs behind the group epoch; `away`: a static one."""
        if member.epoch == AWAY:
            return line(("away", WARN))
        behind = self.consumer.group_epoch - member.epoch
        return line(str(member.epoch), (f" (-{behind})" if behind > 0 else "", WARN))

    def _still_to_do(self, key: str) -> Line:
        one = self.awaited.get(key)
        if one is not None:
            return _duty(one)
        held = held_by_others(self.group, key)
        if not held:
            return ()
        owner, names = next(iter(held.items()))
        more = f" and {len(held) - 1} more" if len(held) > 1 else ""
        return line((f"waits for {ranges(list(names))} of {owner}{more}", PLAIN))


def protocol_of(member: ConsumerGroupMemberView) -> str:
    """The member's own `group.protocol`."""
    return "classic" if member.classic else "consumer"


def _duty(one: AwaitedMember) -> Line:
    if not one.gives_up:
        return line((one.reason, MUTED))
    words = f"revokes {ranges(list(one.gives_up))}{for_words(one.wanted_by)}"
    return line((words, WARN), (f": {one.reason}", MUTED))
