"""A conversation as a sequence diagram: a column for each process or role, a row for each message, time downwards."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from cluster.events import kind_of
from console.presenters.conversations.messages import (
    BROKERS,
    LOST,
    NOTE,
    REFUSED,
    REQUEST,
    Message,
)
from console.presenters.formatting import clock
from console.presenters.list_view import Listing, holds
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    OK,
    PLAIN,
    WARN,
    Line,
    fit,
    line,
    middle,
    wrapped,
)

OTHERS = "others"
NAMED, MOST_TARGETS = 3, 6  # targets of one message that are named in its row, and in full
MARGIN, TIME, LANE, WORDS = 2, 14, 10, 34  # cells of the cursor, an instant, the narrowest lane, the least words
TONES = {REQUEST: PLAIN, NOTE: MUTED, REFUSED: ERROR, LOST: WARN}
NOT_RECORDED = (
    "Not in the event log: Fetch, Metadata, requests that no event answers, the answer to a heartbeat on its way."
    " Where an event names no broker, its column is a role: a coordinator, partition leaders, brokers."
)


class ConversationListing(Listing):
    """The newest messages of some processes, or of all without names. A row's key is the number of its event."""

    def __init__(self, messages: Mapping[str, Message], names: Sequence[str], width: int) -> None:
        super().__init__(width)
        named = f"{', '.join(names[:NAMED])}{f' and {len(names) - NAMED} more' if len(names) > NAMED else ''}"
        self.title = f"conversation of {named}" if names else "conversation"
        self.vacant = line((f"no request of {named} recorded yet" if names else "no request yet", MUTED))
        self.messages = messages
        cells = width - MARGIN - TIME - max(WORDS, width * 2 // 5)
        room = max(2, cells // LANE)
        self.columns, self._column = _columns(self.messages.values(), names, room)
        self.lane = _lane(cells, self.columns)
        if len({self._title(name) for name in self.columns}) < len(
            self.columns
        ):  # near coordinator, nearby coordinator
            self.columns, self._column = _columns(self.messages.values(), names, room, apart=False)
            self.lane = _lane(cells, self.columns)

    def note(self) -> Line:
        """The legend of the arrows."""
        return line(("▶ request or answer  ", MUTED), ("✖ lost  ", WARN), ("● at one end", MUTED))

    def header(self) -> Line:
        """The columns' names, each in the middle of its lane."""
        if not self.messages:
            return ()
        names = "".join(self._title(name).center(self.lane) for name in self.columns)
        return fit(line((" " * (MARGIN + TIME) + names, MUTED)), self.width)

    def row_keys(self) -> list[str]:
        """Oldest first."""
        return list(self.messages)

    def rows(self, key: str) -> tuple[Line]:
        """One message."""
        message = self.messages[key]
        tone = TONES.get(message.kind, OK)
        ends = self._words_of_ends(message)
        return (
            fit(
                line(
                    (f"{'':{MARGIN}}{clock(message.event.at_us, 3):{TIME}}", MUTED),
                    (self._lanes(message), tone if message.kind != NOTE else FAINT),
                    (ends, ACCENT),
                    (message.text, tone),
                ),
                self.width,
            ),
        )

    def key_at(self, at_us: int) -> str:
        """The newest message at or before an instant."""
        keys = list(self.messages)
        place = bisect_right(keys, at_us, key=lambda key: self.messages[key].event.at_us) - 1
        return keys[place] if place >= 0 else ""

    def matches(self, key: str, pattern: str) -> bool:
        """Whether an end or the words hold the pattern; `!` in front negates it."""
        one = self.messages[key]
        return holds(" ".join((one.source, *one.targets, one.about, one.text)), pattern)

    def _title(self, name: str) -> str:
        return middle(name, self.lane - 1)

    def _place(self, name: str) -> int:
        return self._column[name] * self.lane + self.lane // 2

    def _lanes(self, message: Message) -> str:
        cells = [" "] * (self.lane * len(self.columns))
        for column in range(len(self.columns)):
            cells[column * self.lane + self.lane // 2] = "│"
        source, targets = self._place(message.source), [self._place(name) for name in message.targets]
        for place in range(min([source, *targets]), max([source, *targets]) + 1):
            cells[place] = "┼" if cells[place] == "│" else "─"
        for target in targets:
            cells[target] = "✖" if message.kind == LOST else "▶" if target > source else "◀"
        cells[source] = "●" if not targets or source in targets else "├" if max(targets) > source else "┤"
        return "".join(cells) + " "

    def _words_of_ends(self, message: Message) -> str:
        """Both names, if a process has no column of its own; the role that notes something, if it has none."""
        ends = (message.source, *message.targets)
        if any(name not in self.columns and name != BROKERS and " " not in name for name in ends):
            many = len(message.targets) > NAMED
            targets = f"{len(message.targets)} members" if many else ", ".join(message.targets)
            return f"{message.source} → {targets}: " if targets else f"{message.source}: "
        return "" if message.targets or message.source in self.columns else f"{message.source}: "


def _lane(cells: int, columns: Sequence[str]) -> int:
    return max(LANE, min(22, cells // max(1, len(columns))))


def _columns(
    messages: Iterable[Message], names: Sequence[str], room: int, *, apart: bool = True
) -> tuple[list[str], dict[str, int]]:
    """The columns' titles, and the column of each process and role: the chosen first, then by their first message.

    Where the room is too little (or `apart` is false, because two titles look the same) all roles share the column of
    the brokers; then the last processes share it too.
    """
    known: dict[str, None] = {}
    for message in messages:
        if message.source not in known:
            known[message.source] = None
        for name in message.targets:
            if name not in known:
                known[name] = None
    roles = [name for name in known if name == BROKERS or " " in name]  # a client's name has no blank
    clients = [name for name in names if name in known]
    clients += [name for name in known if name not in roles and name not in clients]
    if apart and len(clients) + len(roles) <= room:
        titles = [*clients, *roles]
        return titles, {name: place for place, name in enumerate(titles)}
    titles = [*clients[: room - 1], OTHERS if len(clients) >= room else BROKERS]
    return titles, {name: min(place, len(titles) - 1) for place, name in enumerate(clients)} | dict.fromkeys(
        roles, len(titles) - 1
    )


def _ends(message: Message) -> str:
    """`billing-1 → billing coordinator`; of many targets the first ones; of a note its source alone."""
    more = len(message.targets) - MOST_TARGETS
    targets = ", ".join(message.targets[:MOST_TARGETS]) + (f" and {more} more" if more > 0 else "")
    return f"{message.source} → {targets}" if targets else message.source


class MessageListing(Listing):
    """The selected message in full, the event behind it, and what the event log does not have."""

    title = "the event"

    def __init__(self, message: Message | None, width: int) -> None:
        super().__init__(width)
        words: list[Line] = []
        if message is not None:
            event = message.event
            words.append(
                line((f"{clock(event.at_us, 6)}  ", ACCENT), (kind_of(event), PLAIN), (f"  event {event.seq}", MUTED))
            )
            words += wrapped(line((f"{_ends(message)}: ", ACCENT), (message.text, PLAIN)), width - 3, 2)
        words += wrapped(line((NOT_RECORDED, FAINT)), width - 3)
        self._lines = words

    def note(self) -> Line:
        """What enter does on a message."""
        return line(("enter on a message: to its instant", FAINT))

    def row_keys(self) -> list[str]:
        """Lines; none can be selected."""
        return [f"#{place}" for place in range(len(self._lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One line."""
        return (fit(line("  ", *self._lines[int(key[1:])]), self.width),)
