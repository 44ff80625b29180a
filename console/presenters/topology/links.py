"""The links between processes as a matrix: the latency of each, and the faults in force on it."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from cluster.commands import CommandError, parse
from cluster.commands import catalogue as c
from cluster.spec import ScenarioSpec
from cluster.view.state import ClusterView, FaultView
from console.presenters.active_faults import ActiveFaultsListing
from console.presenters.formatting import UNKNOWN
from console.presenters.list_view import BUILDING, CONTINUED, Listing, worst_first
from console.presenters.overview import broker_state
from console.presenters.styled_text import (
    BANNER,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    line,
    merged,
    middle,
)

WIDE, NARROW = 11, 3
LABELS = (10, 22)
ROW = -1  # the column of the row's name


class Sign(NamedTuple):
    """A fault in a cell: how bad it is, its glyph, its word, its tone."""

    rank: int
    glyph: str
    word: str
    tone: str


SIGNS = {
    "isolate": Sign(0, "✖", "isolated", ERROR),
    "cut": Sign(0, "✖", "cut", ERROR),
    "cut_one_way": Sign(0, "✖", "cut", ERROR),
    "hold": Sign(1, "‖", "held", WARN),
    "lose_responses": Sign(2, "▲", "loses", WARN),
    "slow_link": Sign(3, "▲", "slow", WARN),
}
"""The kinds of faults on links."""


@lru_cache(maxsize=256)
def slowed_to_us(text: str) -> int | None:
    """The one-way latency that a `slow` command sets, in µs."""
    try:
        command = parse(text)
    except CommandError:  # a recording of another version
        return None
    return command.to_us if isinstance(command, c.SlowLink) else None


def milliseconds(us: int) -> str:
    """A latency: `1 ms`, `0.25 ms`."""
    return f"{us / 1_000:g} ms"


class Links:
    """Every link between two processes: its latency as declared, and its faults by direction."""

    def __init__(self, view: ClusterView, spec: ScenarioSpec | None) -> None:
        self.view, self.spec = view, spec
        self._between: dict[tuple[str, str], list[FaultView]] = {}
        self._racks = {f"broker-{one.broker}": one.rack for one in view.brokers.values()}
        self._of_all: list[tuple[str, FaultView]] = []  # of a broker and every other process
        for fault in view.faults.values():
            self._note(fault)
        network = spec.network if spec is not None else None
        self._own = {frozenset(one.between): one.latency_us for one in network.links} if network is not None else {}
        self._apart = network is not None and network.between_racks_us is not None

    def _note(self, fault: FaultView) -> None:
        ends = fault.targets
        if fault.kind not in SIGNS or not ends:
            return
        if fault.kind == "isolate" or len(ends) < 2:
            self._of_all.append((ends[0], fault))
            return
        self._between.setdefault((ends[0], ends[1]), []).append(fault)
        if fault.kind not in {"cut_one_way", "lose_responses"}:
            self._between.setdefault((ends[1], ends[0]), []).append(fault)

    def faults(self, source: str, target: str) -> list[FaultView]:
        """The faults on what `source` sends to `target`, the worst first."""
        found = list(self._between.get((source, target), ()))
        for name, fault in self._of_all:
            if source == name or (target == name and fault.kind == "isolate"):
                found.append(fault)
        return sorted(found, key=lambda fault: SIGNS[fault.kind].rank)

    def on_link(self, one: str, other: str) -> list[FaultView]:
        """The faults on a link, of either direction, oldest first."""
        found = {fault.fault: fault for pair in ((one, other), (other, one)) for fault in self.faults(*pair)}
        return [found[number] for number in sorted(found)]

    def of_process(self, name: str) -> list[FaultView]:
        """The faults that name a process as the end of a link, oldest first."""
        faults = self.view.faults.values()
        return [fault for fault in faults if fault.kind in SIGNS and name in fault.targets]

    def at(self, name: str) -> bool:
        """Whether a fault names a process as the end of a link."""
        return bool(self.of_process(name))

    def latency_us(self, source: str, target: str) -> int | None:
        """The one-way latency in µs: as a command has set it, else the link's own, between racks, or of every link."""
        slowed = [fault for fault in self.faults(source, target) if fault.kind == "slow_link"]
        if slowed:
            return slowed_to_us(max(slowed, key=lambda fault: fault.fault).text)
        if self.spec is None:
            return None
        network, own_us = self.spec.network, self._own.get(frozenset((source, target)))
        if own_us is not None:
            return own_us
        if self._apart and network.between_racks_us is not None:
            here, there = self._rack(source), self._rack(target)
            if here and there and here != there:
                return network.between_racks_us
        return network.latency_us

    def _rack(self, name: str) -> str:
        """The rack of a broker, or a consumer's `client.rack`."""
        if name not in self._racks:
            member, groups = self.view.members.get(name), self.spec.groups if self.spec is not None else ()
            group = next((one for one in groups if member is not None and one.name == member.group), None)
            self._racks[name] = str(group.consumer_config(name).get("client.rack") or "") if group is not None else ""
        return self._racks[name]


def processes(view: ClusterView) -> list[str]:
    """Brokers, members, and producers that are not inside members."""
    brokers = [f"broker-{number}" for number in sorted(view.brokers)]
    return [*brokers, *view.members, *(name for name in view.producers if name not in view.members)]


class LinkMatrixListing(Listing):
    """Processes down, brokers across; a cell is the link between both. `column` is the chosen one, ROW for the name.

    An arrow says which direction a fault is on: `→` from the row to the column.
    """

    title = "links"
    vacant = BUILDING

    def __init__(self, view: ClusterView, spec: ScenarioSpec | None, width: int, chosen: str, column: int) -> None:
        super().__init__(width)
        self.view, self.links, self.chosen = view, Links(view, spec), chosen
        self.brokers = [f"broker-{number}" for number in sorted(view.brokers)]
        self.column = min(column, len(self.brokers) - 1)
        names = processes(view)
        self.keys, self.sick = worst_first(names, lambda name: 0 if self.links.at(name) else None)
        self.label = max(LABELS[0], min(LABELS[1], max((len(name) for name in names), default=0) + 4))
        room = max(NARROW, width - 3 - self.label)
        self.cell = WIDE if len(self.brokers) * WIDE <= room else NARROW
        self.across = max(1, room // self.cell)
        self.first = max(0, self.column - self.across + 1)  # the chosen column is always shown

    @property
    def shown(self) -> list[str]:
        """The brokers whose columns have room."""
        return self.brokers[self.first : self.first + self.across]

    def note(self) -> Line:
        """The legend."""
        signs = line(("✖", ERROR), (" cut  ", MUTED), ("‖", WARN), (" held  ", MUTED), ("▲", WARN))
        words = " slow, loses  → from the row" if self.width >= 72 else " slow, loses"
        return (*signs, (words, MUTED))

    def header(self) -> Line:
        """The brokers, by name or number."""
        if not self.brokers:
            return ()
        titles = [(one if self.cell == WIDE else one.removeprefix("broker-"))[: self.cell - 1] for one in self.shown]
        cells = "".join(title.ljust(self.cell) for title in titles)
        return fit(line(" " * (2 + self.label), (cells, MUTED)), self.width)

    def row_keys(self) -> list[str]:
        """Those with a fault on a link first, else brokers, members, producers."""
        return self.keys

    def exceptions(self) -> Sequence[str]:
        """Processes with a fault on a link of theirs."""
        return self.keys[: self.sick]

    def calm_words(self, keys: Sequence[str]) -> Line:
        """`12 without a fault`."""
        return line((f"{len(keys)} without a fault", MUTED))

    def rows(self, key: str) -> tuple[Line]:
        """The links of one process with the brokers."""
        chosen = key == self.chosen
        name, tone = self._name(key)
        label = middle(name, self.label - 1).ljust(self.label)
        spans: list[Span] = [("  ", PLAIN), (label, BANNER if chosen and self.column == ROW else tone)]
        for place, broker in enumerate(self.shown, self.first):
            text, tone = self.words(key, broker)
            if self.cell == NARROW:
                text = text[:1] if text[:1] in "✖‖▲–" else "·"
            cut = text[: self.cell - 1]
            spans += [(cut, BANNER if chosen and place == self.column else tone), (" " * (self.cell - len(cut)), PLAIN)]
        return (fit(merged(spans), self.width),)

    def _name(self, key: str) -> tuple[str, str]:
        """A process's name, with a sign if it does not run."""
        member, producer = self.view.members.get(key), self.view.producers.get(key)
        runs = producer is None or producer.state not in {"Stopped", "Dead"}
        if key in self.brokers:
            runs = broker_state(self.view.brokers[int(key[7:])]) not in {"silent", "down"}
        elif member is not None:
            runs = member.alive
        return (key, STRONG) if runs else (f"○ {key}", MUTED)

    def words(self, row: str, broker: str) -> Span:
        """A cell: `1 ms`, `✖ cut →`, `▲ 50 ms`; `–` where the row is the column."""
        if row == broker:
            return UNKNOWN, FAINT
        there, back = self.links.faults(row, broker), self.links.faults(broker, row)
        worst = min((SIGNS[one.kind] for one in (*there, *back)), default=None)
        if worst is None:
            latency_us = self.links.latency_us(row, broker)
            return (milliseconds(latency_us) if latency_us is not None else "ok"), MUTED
        arrow = _arrow(worst.rank, there, back)
        word = worst.word
        if word == "slow":
            latency_us = self.links.latency_us(row, broker)
            word = milliseconds(latency_us) if latency_us is not None else word
        return f"{worst.glyph} {word}{arrow}", worst.tone

    def column_at(self, x: int) -> int | None:
        """The column under a cell of the panel; ROW for the name, None beside the matrix."""
        if x < 2 + self.label:
            return ROW
        place = self.first + (x - 2 - self.label) // self.cell
        return place if place < min(len(self.brokers), self.first + self.across) else None


def _arrow(rank: int, there: Sequence[FaultView], back: Sequence[FaultView]) -> str:
    """The direction of the worst fault; empty for both."""
    out, home = (any(SIGNS[one.kind].rank == rank for one in way) for way in (there, back))
    return "" if out and home else " →" if out else " ←"


class LinkListing(ActiveFaultsListing):
    """The chosen link: what each direction delivers, and the faults on it with what ends each.

    Without a second process, or with the same one, it is every link of the first.
    """

    def __init__(
        self, view: ClusterView, spec: ScenarioSpec | None, one: str, other: str, now_us: int, width: int
    ) -> None:
        super().__init__(view, now_us, width)
        self.operations = {}
        self.links = Links(view, spec)
        self.title = f"link {one} – {other}" if other and one != other else one or "link"
        self.faults = {}
        self.ways: list[Line] = []
        if other and one != other:
            self.faults = {str(fault.fault): fault for fault in self.links.on_link(one, other)}
            self.ways = [self._way(one, other), self._way(other, one)]
        elif one:
            self.faults = {str(fault.fault): fault for fault in self.links.of_process(one)}
            self.ways = [line(("enter opens the place of ", MUTED), (one, STRONG))]

    def header(self) -> Line:
        """The directions come first: no columns."""
        return ()

    def exceptions(self) -> list[str]:
        """The matrix above has them."""
        return []

    def row_keys(self) -> list[str]:
        """Both directions, then the faults."""
        return [*(f"{CONTINUED}{number}" for number in range(len(self.ways))), *self.faults]

    def rows(self, key: str) -> tuple[Line]:
        """A direction, or a fault."""
        if key.startswith(CONTINUED):
            return (fit(line("  ", *self.ways[int(key[1:])]), self.width),)
        return super().rows(key)

    def _way(self, source: str, target: str) -> Line:
        latency_us = self.links.latency_us(source, target)
        takes = f" after {milliseconds(latency_us)}" if latency_us is not None else ""
        head: Line = line((source, STRONG), " → ", (target, STRONG), ": ")
        faults = self.links.faults(source, target)
        words = next(_outcomes(faults), None)
        return (*head, *(words or line(f"delivers{takes}")))


def _outcomes(faults: Sequence[FaultView]) -> Iterator[Line]:
    """What the worst fault does to what is sent."""
    for fault in faults:
        sign = SIGNS[fault.kind]
        match fault.kind:
            case "isolate":
                yield line((f"✖ delivers nothing: {fault.targets[0]} is isolated", sign.tone))
            case "cut" | "cut_one_way":
                yield line(("✖ delivers nothing: cut", sign.tone))
            case "hold":
                yield line(("‖ delivers nothing yet: held", sign.tone))
            case "lose_responses":
                yield line(("▲ loses responses", sign.tone))
