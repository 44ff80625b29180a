"""The panels of one broker's place: its process, its replicas, what it coordinates, what ends with it."""

from typing import Final

from cluster.commands import catalogue as c
from cluster.view.brokers import BrokerView
from cluster.view.document import partition_order
from cluster.view.state import ClusterView
from console.presenters import states
from console.presenters.active_faults import fault_words
from console.presenters.formatting import UNKNOWN, count, duration, many, memory, number_ranges
from console.presenters.impact import BROKER_SESSION_US, Impact, impact_of
from console.presenters.impacts.model import NO_BROKER
from console.presenters.list_view import CONTINUED, Listing
from console.presenters.overview import broker_state
from console.presenters.styled_text import (
    ACCENT,
    ERROR,
    FAINT,
    MUTED,
    PLAIN,
    STRONG,
    WARN,
    Line,
    Span,
    fit,
    joined,
    line,
    middle,
    wrapped,
)
from console.presenters.table import TableColumn, for_names, layout
from console.presenters.topology.brokers import coordinated, hosted, state_since, transaction_partition
from console.presenters.topology.standing import UntilTopologyChanges
from console.presenters.topology.topics import isr_column, isr_words, leader_words
from console.presenters.transactions import shown_state


class BrokerListing(Listing):
    """One broker in a few lines: its process, its registration, its share of the cluster."""

    def __init__(self, view: ClusterView, broker: BrokerView, now_us: int, width: int) -> None:
        super().__init__(width)
        self.view, self.broker, self.now_us = view, broker, now_us
        self.title = f"broker-{broker.broker}"
        faults = joined(fault_words(view, [f"broker-{broker.broker}"], now_us), (" · ", FAINT))
        said = [self._process(), *([faults] if faults else []), self._share()]
        self.lines = [row for words in said for row in wrapped(words, width - 3)]

    def row_keys(self) -> list[str]:
        """Lines that cannot be selected."""
        return [f"{CONTINUED}{number}" for number in range(len(self.lines))]

    def rows(self, key: str) -> tuple[Line]:
        """One of the lines."""
        return (fit(line("  ", *self.lines[int(key[1:])]), self.width),)

    def _process(self) -> Line:
        broker, name = self.broker, broker_state(self.broker)
        state, since = states.BROKER[name], state_since(self.broker, self.now_us)
        parts = [line((f"{state.glyph} {name}", state.tone), f" for {since}" if since != UNKNOWN else "")]
        parts.append(line((state.meaning, MUTED)))
        if self.view.controller == broker.broker:
            parts.append(line((states.CONTROLLER, ACCENT), " active controller"))
        if broker.rack:
            parts.append(line(f"rack {broker.rack}"))
        return joined(parts, (" · ", FAINT))

    def _share(self) -> Line:
        number, has = self.broker.broker, hosted(self.view)[self.broker.broker]
        size = sum(one.bytes for one in self.view.partitions.values() if number in one.replicas)
        return joined(
            (
                line(f"leads {has.leads} +{has.internal} internal"),
                line(many(has.replicas, "replica")),
                line((f"{has.out} out of the ISR", WARN if has.out else MUTED)),
                line(f"{memory(size)} retained"),
                line(f"coordinates {many(len(has.groups), 'group')}"),
                line(many(len(has.transactional_ids), "transactional id")),
                line(f"{many(has.requests, 'Produce request')} in flight"),
            ),
            (" · ", FAINT),
        )


RISK_COLUMNS = (
    TableColumn("", 14, grow=2, most=30),
    TableColumn("what happens", 40, grow=4),
)
MOST_NAMED = 20
NOTHING = "no partition changes its leader, and no coordinator moves"
LOST, MOVED, SHORT, GROUP, TRANSACTION = "lost", "moved", "short", "group", "transaction"


class RiskListing(Listing):
    """What `kill` would do to this broker now: partitions without a leader, below min ISR, moved coordinators.

    Keys have the kind of a row in front of its name: `lost/orders-3`, `group/billing`.
    """

    title = "if it dies now"

    def __init__(self, view: ClusterView, broker: BrokerView, width: int, session_us: int | None = None) -> None:
        super().__init__(width)
        self.view, self.broker = view, broker
        refused, self.found = _if_it_dies(view, broker.broker, session_us or BROKER_SESSION_US)
        self.vacant = line(("its process is not running: start it first" if refused else NOTHING, MUTED))
        self.layout = layout(for_names(RISK_COLUMNS, (key.partition("/")[2] for key in self.found)), width)

    def note(self) -> Line:
        """The worst sentence; the rows have the rest."""
        return line((f"kill broker-{self.broker.broker}", ACCENT))

    def row_keys(self) -> list[str]:
        """The worst first."""
        return list(self.found)

    def exceptions(self) -> list[str]:
        """Rows of partitions that would refuse records."""
        return [key for key in self.found if key.partition("/")[0] in {LOST, SHORT}]

    def rows(self, key: str) -> tuple[Line]:
        """One consequence."""
        name = key.partition("/")[2]
        return (self.layout.row([(middle(name, self.layout.width_of(0)), STRONG), self.found[key]]),)


@UntilTopologyChanges
def _if_it_dies(view: ClusterView, number: int, session_us: int) -> tuple[bool, dict[str, Line]]:
    """Whether the broker cannot die since it does not run; the words of each consequence by the key of its row."""
    impact = impact_of(view, c.Kill(f"broker-{number}"), view.at_us, session_us)
    after = f" after {duration(impact.after_us)}" if impact.after_us else ""
    found = [] if impact.refused else _consequences(view, number, impact, after)
    return bool(impact.refused), {f"{kind}/{one}": words for kind, one, words in found}


def _consequences(view: ClusterView, number: int, impact: Impact, after: str) -> list[tuple[str, str, Line]]:
    """Kind, name and words of each consequence, the worst first."""
    offline, short = set(impact.offline), falls_short(view, number, impact)
    found = [(LOST, name, line(("✖ no leader until the broker returns", ERROR), after)) for name in impact.offline]
    for name, gone in short.items():
        least = view.topics[view.partitions[name].topic].min_insync_replicas
        words = f"▽ below min.insync.replicas {least}: acks=all refused"
        others = f" · {', '.join(f'broker-{one}' for one in gone)} down as well" if gone else ""
        found.append((SHORT, name, line((words, ERROR), *_leader_moves(impact, name), others, after)))
    if impact.controller is not None:
        to = f"broker-{impact.controller}" if impact.controller != NO_BROKER else "none"
        found.append(("controller", "controller", line(f"active controller → {to}")))
    for name in impact.groups:
        partition = view.groups[name].coordinator_partition
        found.append((GROUP, name, line(f"group coordinator{_next(impact, partition)}", after)))
    for name in impact.transactions:
        one = transaction_partition(view, name)
        moves = _next(impact, one.partition if one is not None else "")
        found.append((TRANSACTION, name, line(f"transaction coordinator{moves}", after)))
    return [*found, *_moves(view, impact, offline | set(short), after)]


def falls_short(view: ClusterView, broker: int, impact: Impact) -> dict[str, list[int]]:
    """Partitions that would have fewer than min.insync.replicas in sync, and their other brokers that are down already.

    A broker that is down and not fenced yet is in the ISR for now, and will not stay in it.
    """
    found: dict[str, list[int]] = {}
    offline = set(impact.offline)
    down = {one.broker for one in view.brokers.values() if not one.alive and one.broker != broker}
    enough = {one.topic: one.min_insync_replicas + 1 + len(down) for one in view.topics.values()}
    for name, one in view.partitions.items():
        if len(one.isr) >= enough[one.topic] or broker not in one.isr or one.leader < 0 or name in offline:
            continue
        gone = sorted(other for other in one.isr if other in down)
        least = min(view.topics[one.topic].min_insync_replicas, len(one.replicas))
        if len(one.isr) - 1 - len(gone) < least <= len(one.isr):
            found[name] = gone
    return found


def _moves(view: ClusterView, impact: Impact, shown: set[str], after: str) -> list[tuple[str, str, Line]]:
    """One row for each topic with partitions that only change their leader: `new leader: broker-3 of 1,4 after 9.0 s`.

    The topics of users come first.
    """
    by_topic: dict[str, dict[int, list[int]]] = {}
    for name, leader in impact.leaders.items():
        if name not in shown:
            topic, number = partition_order(name)
            by_topic.setdefault(topic, {}).setdefault(leader, []).append(number)
    found = []
    for topic in sorted(by_topic, key=lambda topic: view.topics[topic].internal):
        leaders = sorted(by_topic[topic].items())
        words = " · ".join(f"broker-{leader} of {_named(numbers)}" for leader, numbers in leaders)
        found.append((MOVED, topic, line(f"new leader{after}: {words}")))
    return found


def _named(numbers: list[int]) -> str:
    """A topic's partitions by number, or how many there are."""
    return number_ranges(sorted(numbers)) if len(numbers) <= MOST_NAMED else f"{len(numbers)} partitions"


def _leader_moves(impact: Impact, name: str) -> Line:
    leader = impact.leaders.get(name, NO_BROKER)
    return line(f" · leader → broker-{leader}") if leader != NO_BROKER else ()


def _next(impact: Impact, partition: str) -> str:
    leader = impact.leaders.get(partition, NO_BROKER)
    return f" → broker-{leader}" if leader != NO_BROKER else ": none until the broker returns"


REPLICA_COLUMNS = (
    TableColumn("partition", 14, grow=1, most=28),
    TableColumn("role", 11),
    TableColumn("leader", 11, grow=1, most=19),
    TableColumn("epoch", 5, right=True, rank=2),
    TableColumn("ISR", 12),
    TableColumn("log end", 8, right=True, rank=1),
)
ISR: Final = 4


@UntilTopologyChanges
def _replicas(view: ClusterView, number: int) -> tuple[list[str], int, tuple[TableColumn, ...]]:
    """The replicas of a broker: those out of sync, what it leads, internal ones; how many are out; the columns."""
    held = [one for one in view.partitions.values() if number in one.replicas]
    held.sort(key=lambda one: (view.topics[one.topic].internal, one.leader != number))
    out = [one.partition for one in held if number not in one.isr and number not in one.adding]
    names = [*out, *(one.partition for one in held if number in one.isr or number in one.adding)]
    columns = list(for_names(REPLICA_COLUMNS, names))
    columns[ISR] = isr_column(view, held, columns[ISR])
    return names, len(out), tuple(columns)


class BrokerReplicasListing(Listing):
    """Every replica of a broker: what it leads, and where it is out of sync, first."""

    title = "replicas"
    vacant = line(("it has no replica", MUTED))

    def __init__(self, view: ClusterView, broker: BrokerView, width: int) -> None:
        super().__init__(width)
        self.view, self.broker = view, broker
        self.keys, self.out, columns = _replicas(view, broker.broker)
        self.layout = layout(columns, width)

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.keys else ()

    def row_keys(self) -> list[str]:
        """Those out of sync first."""
        return self.keys

    def exceptions(self) -> list[str]:
        """Those out of sync."""
        return self.keys[: self.out]

    def rows(self, key: str) -> tuple[Line]:
        """One replica."""
        one = self.view.partitions[key]
        leads, in_sync = one.leader == self.broker.broker, self.broker.broker in one.isr
        missing = ("adding", PLAIN) if self.broker.broker in one.adding else ("▲ out", WARN)
        role = ("leader", STRONG) if leads else ("in sync", PLAIN) if in_sync else missing
        cells: list[Line | Span | str] = [
            middle(key, self.layout.width_of(0)),
            line(role),
            leader_words(self.view.brokers, one, self.layout.width_of(2)),
            str(one.leader_epoch),
            isr_words(one, self.view.topics[one.topic].min_insync_replicas),
            count(one.log_end),
        ]
        return (self.layout.row(cells),)


COORDINATED_COLUMNS = (
    TableColumn("coordinates", 16, grow=1, most=36),
    TableColumn("kind", 16),
    TableColumn("state", 21),
    TableColumn("partition", 24, rank=1, grow=1),
)


class CoordinatedListing(Listing):
    """The groups and transactional ids whose coordinator is this broker. Keys: `group/billing`, `transaction/pay`."""

    title = "coordinators"

    def __init__(self, view: ClusterView, broker: BrokerView, width: int) -> None:
        super().__init__(width)
        self.view = view
        groups, ids = coordinated(view)
        self.keys = [f"{GROUP}/{one}" for one in groups[broker.broker]]
        self.keys += [f"{TRANSACTION}/{one}" for one in ids[broker.broker]]
        self.vacant = line(("it coordinates no group and no transactional id", MUTED))
        self.layout = layout(for_names(COORDINATED_COLUMNS, (key.partition("/")[2] for key in self.keys)), width)

    def header(self) -> Line:
        """The columns' titles, if the table has rows."""
        return self.layout.header() if self.keys else ()

    def row_keys(self) -> list[str]:
        """Groups, then transactional ids."""
        return self.keys

    def rows(self, key: str) -> tuple[Line]:
        """One group or transactional id."""
        kind, _, name = key.partition("/")
        if kind == GROUP:
            group = self.view.groups[name]
            state, word = states.group(group.state, consumer=group.consumer is not None), group.state
            partition = group.coordinator_partition
        else:
            word = shown_state(self.view.transactions[name])
            state, one = states.transaction(word), transaction_partition(self.view, name)
            partition = one.partition if one is not None else UNKNOWN
        cells: list[Line | Span | str] = [
            (middle(name, self.layout.width_of(0)), STRONG),
            "group" if kind == GROUP else "transactional id",
            line((f"{state.glyph} {word}", state.tone)),
            (partition, MUTED),
        ]
        return (self.layout.row(cells),)
