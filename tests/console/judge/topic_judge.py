"""Judges the place of a topic: its sum, its load, its partitions, its readers, its configuration."""

import re

from cluster.config import TOPIC_FALLBACK, coerce, defaults
from cluster.spec import ScenarioSpec
from tests.console.judge.books import Books
from tests.console.judge.cluster_books import BrokerBook, PartitionBook
from tests.console.judge.grammar import Verdict
from tests.console.judge.headline_judge import HeadlineJudge
from tests.console.judge.partition_judge import state_of
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import bytes_says, counts

SUM = re.compile(
    r"(?P<health>\S [A-Za-z0-9 .-]+?) · (?P<partitions>\d+) partitions? · replication factor (?P<factor>\d+)"
    r" · min\.insync\.replicas (?P<least>\d+) · (?P<bytes>[\d.]+ \w+) retained(?: · (?P<rate>\S+)/s)?"
)
LOAD = re.compile(r"load: (\S+) took (<1|\d+)% of ([\d,]+) records appended, (\d+\.\d) × the mean")
ONE = re.compile(r"load: its one partition holds all ([\d,]+) records appended")
RIGHT = {"epoch": 5, "start": 7, "LSO": 7, "HW": 7, "end": 7, "rate": 6, "share": 5, "size": 8}
LEFT = ("partition", "leader", "ISR", "read by")
READERS = {"lag": 6, "partitions": 10}
ORIGINS = {"the scenario's topic", "the scenario's brokers", "set cluster"}


def numbers_of(text: str) -> list[int]:
    """`0-2,5` as 0, 1, 2, 5."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def leads(text: str, one: PartitionBook, brokers: dict[int, BrokerBook]) -> bool:
    """Whether a cell names the partition's leader, and the leader's state unless it is up."""
    if one.leader < 0:
        return text == "✖ no leader"
    state = state_of(brokers[one.leader])
    name = f"broker-{one.leader}"
    return text == name if state == "up" else text[2:] in {name, f"{name} {state}"} and text[0] in "✖↻‖"


def in_sync(text: str, one: PartitionBook, least: int) -> bool:
    """Whether a cell has the in-sync replicas, the sign of too few of them, and what a reassignment adds and removes.

    A narrow column may cut a reassignment off; the partition's place has it in full.
    """
    isr = len(one.isr)
    sign = "▽ " if isr < min(least, len(one.replicas)) else "▲ " if isr < one.wanted else ""
    of = f" of {one.wanted if isr < one.wanted else len(one.replicas)}" if sign else ""
    moves = [f" {mark}{','.join(map(str, ids))}" for mark, ids in (("+", one.adding), ("−", one.removing)) if ids]
    shown = f"{sign}{','.join(map(str, sorted(one.isr))) or 'none'}{of}"
    words, cut, _ = text.partition("…")
    if cut:
        return bool(moves) and words.startswith(shown) and "".join((shown, *moves)).startswith(words.rstrip())
    return text == "".join((shown, *moves))


class TopicJudge:
    """One topic at one instant."""

    def __init__(self, books: Books, name: str, now_us: int, spec: ScenarioSpec, verdict: Verdict) -> None:
        self.books, self.name, self.now_us, self.spec, self.verdict = books, name, now_us, spec, verdict
        self.topic, self.place = books.cluster.topics[name], f"place of topic {name}"
        self.partitions = {key: one for key, one in books.cluster.partitions.items() if one.topic == name}
        self.stuck = HeadlineJudge(books, now_us, verdict, spec).stuck_partitions()
        self.total = sum(one.records for one in self.partitions.values())

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    # --- the sum ----------------------------------------------------------------------------------------------------

    def sum(self, text: str, load: str) -> None:
        """Numbers of the whole topic, its health, its busiest partition."""
        match = SUM.fullmatch(text)
        if match is None:
            self._claim(False, f"unknown claim: {text!r}")
            return
        topic = self.topic
        truth = len(self.partitions), topic.replication_factor, topic.min_insync_replicas
        self._claim((int(match["partitions"]), int(match["factor"]), int(match["least"])) == truth, f"{text!r}")
        size = sum(one.bytes for one in self.partitions.values())
        self._claim(bytes_says(match["bytes"], size), f"{match['bytes']}, not {size} bytes")
        self._claim(self._healthy(match["health"]), match["health"])
        self._load(load)

    def _healthy(self, text: str) -> bool:
        ones = self.partitions.values()
        counted = {
            "✖ {} without a leader": sum(one.leader < 0 for one in ones),
            "✖ {} led by a dead broker": sum(not self.books.cluster.is_led(one) for one in ones),
            "▽ {} below min ISR": sum(self._short(one) for one in ones),
            "▲ {} under-replicated": sum(len(one.isr) < one.wanted for one in ones),
            "‖ {} held back": len(self.stuck & self.partitions.keys()),
        }
        worst = next((words.format(number) for words, number in counted.items() if number), "● all in sync")
        return text == worst

    def _load(self, text: str) -> None:
        if not self.total:
            self._claim(text == "load: no record appended yet", text)
            return
        if match := ONE.fullmatch(text):
            self._claim(len(self.partitions) == 1 and int(match[1].replace(",", "")) == self.total, text)
            return
        match = LOAD.fullmatch(text)
        if match is None:
            self._claim(False, f"unknown claim: {text!r}")
            return
        busiest = max(one.records for one in self.partitions.values())
        named = self.partitions[match[1]].records == busiest
        times = busiest * len(self.partitions) / self.total
        right = self._shares(f"{match[2]}%", busiest) and abs(float(match[4]) - times) <= 0.051
        self._claim(named and right and int(match[3].replace(",", "")) == self.total, f"{text!r}: {busiest} busiest")

    def _shares(self, text: str, records: int) -> bool:
        share = 100 * records / self.total if self.total else 0.0
        if text == "<1%":
            return 0 < share < 1
        return text == "–" if not self.total else text == f"{int(share)}%" and (share >= 1 or not records)

    # --- partitions -------------------------------------------------------------------------------------------------

    def listed(self, names: list[str]) -> None:
        """Every partition, the sick ones before the healthy ones."""
        self._claim(sorted(names) == sorted(self.partitions), f"partitions {names}")
        well = [self._is_well(name) for name in names]
        self._claim(well == sorted(well), f"order of {names}")

    def _short(self, one: PartitionBook) -> bool:
        return len(one.isr) < min(self.topic.min_insync_replicas, len(one.replicas))

    def _is_well(self, name: str) -> bool:
        one = self.partitions[name]
        whole = len(one.isr) >= one.wanted and not self._short(one)
        owned = all(
            self.books.member_books.holders(group, name) for group in self._groups() if self.books.groups[group].members
        )
        return whole and owned and self.books.cluster.is_led(one)

    def partition(self, name: str, header: str, row: str) -> None:
        """One partition's leadership, offsets, load and owners."""
        one, table = self.partitions[name], Table(header, row, RIGHT, LEFT)
        leader, isr = table.cell("leader") or "", table.cell("ISR") or ""
        self._claim(leads(leader.strip(), one, self.books.cluster.brokers), f"{name}: leader {leader!r}")
        self._claim(in_sync(isr.strip(), one, self.topic.min_insync_replicas), f"{name}: ISR {isr!r}, not {one.isr}")
        offsets = {
            "start": one.log_start,
            "LSO": self.books.stable_offset(name),
            "HW": one.high_watermark,
            "end": one.log_end,
        }
        for title, truth in offsets.items():
            text = table.cell(title)
            exact = text == str(truth) if truth < 10_000_000 else counts(text or "", truth)
            self._claim(text is None or exact, f"{name}: {title} {text}, not {truth}")
        epoch, size, share = table.cell("epoch"), table.cell("size"), table.cell("share")
        self._claim(epoch in {None, str(one.elected)}, f"{name}: epoch {epoch}, not {one.elected}")
        self._claim(size is None or bytes_says(size, one.bytes), f"{name}: size {size}, not {one.bytes}")
        self._claim(share is None or self._shares(share, one.records), f"{name}: share {share} of {self.total}")
        self._rate(name, table.cell("rate"))
        self._read_by(name, (table.cell("read by") or "").strip())

    def _rate(self, name: str, text: str | None) -> None:
        ends = [end for _, end in self.books.ends.get(name, [])]
        if text is None or self.topic.internal:
            return
        if self.books.quiet_since(self.now_us):  # the screen's last sample is that of the last second with an event
            return
        ends = ends[-11:]
        truth = max(0, ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else -1
        digits = text.removesuffix("/s")
        if 0 < truth < 9.95:
            said = abs(float(digits) - truth) <= 0.051 if digits[0].isdecimal() else False
        else:
            near = {round(truth - 0.01), round(truth + 0.01)}  # the screen may round a half to either side
            said = text == "–" if truth < 0 else any(counts(digits, one) for one in near)
        self._claim(said, f"{name}: rate {text}, not {truth}")

    def _read_by(self, name: str, text: str) -> None:
        if not text or "…" in text:
            return
        truth = set()
        for group in self._groups():
            holders = self.books.member_books.holders(group, name)
            truth |= set(holders) or {f"‖ {group}"}
        said = set(text.split(", ")) if text != "–" else set()
        self._claim(said <= truth and len(said) == len(self._groups()), f"{name}: read by {said}, not {truth}")

    def _groups(self) -> list[str]:
        return [name for name, group in self.books.groups.items() if self.name in group.topics]

    # --- readers ----------------------------------------------------------------------------------------------------

    def readers(self, header: str, rows: dict[str, str], vacant: str) -> None:
        """Groups that read the topic, each with the partitions of its owners."""
        groups = self._groups()
        self._claim([key for key in rows if "/" not in key] == groups, f"readers {list(rows)}, not {groups}")
        if not rows:
            self._claim(vacant == f"no group subscribes to {self.name}", vacant)
        for key, row in rows.items():
            group, _, member = key.partition("/")
            table = Table(header, row, READERS, ("group, owner", "state", "owns"))
            state = (table.cell("state") or "").split()[-1]
            book = self.books.groups[group]
            truth = self.books.members[member].state if member else book.state
            self._claim(state == truth, f"{key} is {state}, not {truth}")
            if member:
                self._owner(group, member, table)
                continue
            lag = sum(self.books.lag_in(book, name) for name in self.partitions)
            self._claim(counts(table.cell("lag") or "", lag), f"lag {table.cell('lag')} of {key}, not {lag}")
            self._unowned(group, (table.cell("owns") or "").strip())

    def _owner(self, group: str, member: str, table: Table) -> None:
        owns = (table.cell("owns") or "").strip()
        number = int(table.cell("partitions") or 0)
        if not owns or "…" in owns:
            return
        names = [f"{self.name}-{one}" for one in numbers_of(owns)]
        held = [name for name in names if member in self.books.member_books.holders(group, name)]
        self._claim(held == names and number == len(names), f"{member} owns {owns}, holds {held}")
        lag = sum(self.books.lag_in(self.books.groups[group], name) for name in names)
        self._claim(counts(table.cell("lag") or "", lag), f"lag {table.cell('lag')} of {member}, not {lag}")

    def _unowned(self, group: str, owns: str) -> None:
        if "…" in owns:
            return
        free = [name for name in self.partitions if not self.books.member_books.holders(group, name)]
        said = numbers_of(owns.removeprefix("‖ no owner: ")) if owns else []
        names = [f"{self.name}-{one}" for one in said]
        self._claim(sorted(names) == sorted(free), f"{owns!r} of {group}, not {free}")

    # --- configuration ----------------------------------------------------------------------------------------------

    def configuration(self, header: str, rows: dict[str, str]) -> None:
        """Every key whose value is not Kafka's default, with its value."""
        kafka = defaults("topic")
        truth = {} if self.topic.internal else {key: self._value(key) for key in kafka}
        changed = {key for key, text in truth.items() if text != _text(kafka[key])}
        self._claim(set(rows) == changed, f"keys {sorted(rows)}, not {sorted(changed)}")
        for key, row in rows.items():
            table = Table(header, row, {}, ("key", "value", "Kafka's default", "set by"))
            said, origin = (table.cell("value") or "").strip(), (table.cell("set by") or "").strip()
            self._claim("…" in said or said == truth.get(key), f"{key} is {said!r}, not {truth.get(key)!r}")
            self._claim(origin in self._origins(key), f"{key} set by {origin!r}")

    def _declared(self) -> dict[str, object]:
        return next((dict(one.config) for one in self.spec.topics if one.name == self.name), {})

    def _value(self, key: str) -> str:
        given, behind = self.books.cluster.given, TOPIC_FALLBACK.get(key, "")
        if (self.name, key) in given:
            return _text(coerce("topic", key, given[self.name, key]))
        if key in self._declared():
            return _text(coerce("topic", key, self._declared()[key]))
        if ("cluster", behind) in given:
            return _text(coerce("broker", behind, given["cluster", behind]))
        hours = {"retention.ms": "log.retention.hours", "segment.ms": "log.roll.hours"}.get(key, "")
        if behind in self.spec.config:
            return _text(coerce("broker", behind, self.spec.config[behind]))
        if hours in self.spec.config:
            return str(int(str(self.spec.config[hours])) * 3_600_000)
        return _text(defaults("topic")[key])

    def _origins(self, key: str) -> set[str]:
        if (self.name, key) in self.books.cluster.given:
            return {f"set {self.name}", *ORIGINS}
        if key in self._declared():
            return {"the scenario's topic"}
        given = ("cluster", TOPIC_FALLBACK.get(key, "")) in self.books.cluster.given
        return ORIGINS - {"the scenario's topic"} if given else {"the scenario's brokers"}


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
