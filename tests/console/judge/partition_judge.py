"""Judges the place of a partition: leadership, the four offsets, readers, open transactions, replicas."""

import re

from tests.console.judge.books import Books
from tests.console.judge.cluster_books import BrokerBook
from tests.console.judge.grammar import Verdict
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import counts, says
from tests.console.judge.transactions_judge import TransactionsJudge

LEADER = re.compile(
    r"(?:✖ no leader|(?:(?P<glyph>\S) )?leader broker-(?P<leader>\d+)(?: (?P<state>\w+))?)"
    r" · leader epoch (?P<epoch>-?\d+) · ISR (?P<isr>\S+) of (?P<replicas>\S+)"
    r"(?: · adding (?P<adding>\S+))?(?: · removing (?P<removing>\S+))?"
    r" · (?P<below>below )?min\.insync\.replicas (?P<least>\d+)"
)
OFFSETS = re.compile(
    r"(?:log )?start (\d+) · (?:last stable offset|LSO) (\d+) · (?:high watermark|HW) (\d+) · (?:log )?end (\d+)"
)
READERS = {"committed": 9, "position": 9, "lag": 6, "time lag": 8}
SPANS = {"first": 9, "open": 6}
REPLICAS = {"log end": 12, "last led in epoch": 17}


def state_of(broker: BrokerBook) -> str:
    """What an administrator calls a broker in this state."""
    if not broker.up:
        return "down" if broker.fenced else "silent"
    if broker.frozen:
        return "frozen"
    if broker.stopping:
        return "stopping"
    if broker.serves and broker.fenced and broker.registered:
        return "fenced"
    return "up" if broker.serves and not broker.fenced else "starting"


class PartitionJudge:
    """One partition at one instant."""

    def __init__(self, books: Books, name: str, now_us: int, verdict: Verdict) -> None:
        self.books, self.name, self.now_us, self.verdict = books, name, now_us, verdict
        self.one, self.place = books.cluster.partitions[name], f"place of {name}"
        self.stable = books.stable_offset(name)

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    # --- the log ----------------------------------------------------------------------------------------------------

    def log(self, rows: list[str]) -> None:
        """Leadership, the bar, the offsets."""
        leadership, bar, offsets = rows
        one, least = self.one, self.books.cluster.topics[self.one.topic].min_insync_replicas
        least = min(least, len(one.replicas))
        match = LEADER.fullmatch(leadership)
        if match is None:
            self._claim(False, f"unknown claim: {leadership!r}")
            return
        led = int(match["leader"]) if match["leader"] else -1
        self._claim(led == one.leader and int(match["epoch"]) == one.elected, leadership)
        self._claim(_numbers(match["isr"]) == sorted(one.isr), f"{leadership}, not {one.isr}")
        self._claim(_numbers(match["replicas"]) == sorted(one.replicas), f"{leadership}, not {one.replicas}")
        moves = _numbers(match["adding"] or "none"), _numbers(match["removing"] or "none")
        self._claim(moves == (sorted(one.adding), sorted(one.removing)), f"{leadership}, not {moves}")
        self._claim((int(match["least"]), bool(match["below"])) == (least, len(one.isr) < least), leadership)
        if led >= 0:
            self._claim((match["state"] or "up") == state_of(self.books.cluster.brokers[led]), leadership)
        truth = one.log_start, self.stable, one.high_watermark, one.log_end
        said = OFFSETS.fullmatch(offsets)
        self._claim(said is not None and tuple(map(int, said.groups())) == truth, f"{offsets!r}, not {truth}")
        self._bar(bar.removeprefix("log").strip())

    def _bar(self, bar: str) -> None:
        """The bar changes where the offsets are, to a cell."""
        match = re.fullmatch(r"(█*)(▞*)(┄*)", bar)
        size, one = len(bar), self.one
        span = one.log_end - one.log_start
        if match is None or not span:
            self._claim(match is not None and not bar, f"a bar {bar!r} for {span} offsets")
            return
        ends = len(match[1]), len(match[1]) + len(match[2])
        for end, offset in zip(ends, (self.stable, one.high_watermark), strict=True):
            share = (offset - one.log_start) / span
            self._claim(abs(end - share * size) <= 1 + share, f"{bar!r} ends in cell {end} for offset {offset}")

    # --- readers ----------------------------------------------------------------------------------------------------

    def listed(self, names: list[str], vacant: str) -> None:
        """Every group that reads the topic."""
        truth = [name for name, group in self.books.groups.items() if self.one.topic in group.topics]
        self._claim(sorted(names) == sorted(truth), f"readers {names}, not {truth}")
        if not names:
            self._claim(vacant.startswith(f"no group subscribes to {self.one.topic}:"), vacant)

    def reader(self, name: str, header: str, row: str) -> None:
        """A group's offsets, its lag, its owner, and its marks on the ruler."""
        group, table = self.books.groups[name], Table(header, row, READERS, ("group", "owner"))
        holders = self.books.member_books.holders(name, self.name)
        committed = group.committed.get(self.name, -1)
        self._offset("committed", table.cell("committed") or "", committed)
        lag = self.books.lag_in(group, self.name)
        self._claim(counts(table.cell("lag") or "", lag), f"lag {table.cell('lag')} of {name}, not {lag}")
        position = table.cell("position") or ""
        held = [self.books.members[holder].positions.get(self.name, -1) for holder in holders]
        self._claim(
            (position == "–" and (not held or -1 in held)) or position in map(str, held), f"position {position}"
        )
        owner = (table.cell("owner") or "").strip()
        if owner:
            right = owner in holders if holders else owner == "‖ no owner"
            self._claim(right, f"owner {owner!r}, held by {holders}")
        self._mark(row, "◇", committed)
        self._mark(row, "▷", int(position) if position != "–" else -1, hidden_by="◇")

    def _offset(self, title: str, text: str, truth: int) -> None:
        self._claim(text == (str(truth) if truth >= 0 else "–"), f"{title} {text}, not {truth}")

    def _mark(self, row: str, sign: str, offset: int, hidden_by: str = "") -> None:
        ruler = max(re.findall(r"[·╍◇▷]+", row), key=len, default="")
        if offset < 0:
            self._claim(sign not in ruler, f"{sign} in {ruler!r}, without an offset")
            return
        span = max(1, self.one.log_end - self.one.log_start)
        share = min(1.0, max(0.0, (offset - self.one.log_start) / span))
        at = ruler.find(sign) if sign in ruler else ruler.find(hidden_by) if hidden_by else -1
        self._claim(at >= 0 and abs(at - share * (len(ruler) - 1)) <= 1, f"{sign} in {ruler!r} for offset {offset}")

    # --- transactions -----------------------------------------------------------------------------------------------

    def transactions(self, header: str, rows: list[str], vacant: str) -> None:
        """Every transaction that holds readers back, by its producer id and first offset."""
        log = self.books.transactions.logs.get(self.name)
        truth = log.unread(self.one.high_watermark) if log is not None else {}
        self._claim(len(rows) == len(truth), f"{len(rows)} open transactions, not {truth}")
        if not rows:
            self._claim(vacant == "none: readers of committed data read up to the high watermark", vacant)
        judge = TransactionsJudge(self.books, self.now_us, self.verdict)
        for row in rows:
            table = Table(header, row, SPANS, ("producer id", "transaction"))
            first = int(table.cell("first") or -1)
            if first not in truth:
                self._claim(False, f"no transaction begins at {first}: {truth}")
                continue
            producer_id, marker = truth[first]
            said = (table.cell("producer id") or "").split()[0]
            self._claim(said == str(producer_id), f"producer id {said}, not {producer_id}")
            words = (table.cell("transaction") or "").strip()
            if "…" not in words:
                self.verdict.read(self.place, words, judge._reasons(self.name, producer_id, marker))
            one = self.books.transactions.of_producer(producer_id)
            known = marker is None and one is not None and judge._writes(one, self.name)
            since = table.cell("open") or ""
            right = says(since, self.now_us - one.started_us) if known and one is not None else since == "–"
            self._claim(right, f"open {since!r}")

    # --- replicas ---------------------------------------------------------------------------------------------------

    def replicas(self, header: str, rows: list[str]) -> None:
        """Each replica's process, role and log end."""
        one = self.one
        self._claim(len(rows) == len(one.replicas), f"{len(rows)} replicas, not {one.replicas}")
        for row in rows:
            table = Table(header, row, REPLICAS, ("replica", "process", "role"))
            number = int((table.cell("replica") or "-1").strip().rpartition("-")[2])
            state = (table.cell("process") or "").split()[-1]
            self._claim(state == state_of(self.books.cluster.brokers[number]), f"broker-{number} is {state}")
            role = "leader" if number == one.leader else "in sync" if number in one.isr else "out of sync"
            role = "adding" if role == "out of sync" and number in one.adding else role
            self._claim(
                (table.cell("role") or "").strip() == role, f"broker-{number}: {table.cell('role')}, not {role}"
            )
            broker = self.books.cluster.brokers[number]
            bounded = number in one.isr and one.leader == one.taken_by and broker.up and broker.registered
            truth = str(one.log_end) if number == one.taken_by else f"≥ {one.high_watermark}" if bounded else "–"
            self._claim(table.cell("log end") == truth, f"log end {table.cell('log end')}, not {truth}")
            epoch = str(one.led_in.get(number, "–"))
            if (said := table.cell("last led in epoch")) is not None:
                self._claim(said == epoch, f"last led in epoch {said}, not {epoch}")


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text != "none" else []
