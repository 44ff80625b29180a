"""Judges the places of brokers: their states and shares, what each coordinates, and what ends with one."""

import re

from tests.console.judge.books import Books
from tests.console.judge.cluster_books import PartitionBook
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.named_faults import all_said, labels, naming
from tests.console.judge.partition_judge import state_of
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import DURATION, bytes_says, says
from tests.console.judge.topic_judge import in_sync, leads, numbers_of
from tests.console.judge.transaction_books import coordinator_partition

D = rf"({DURATION})"
RIGHT = {"since": 7, "leads": 7, "replicas": 8, "ISR out": 7, "in flight": 9}
LEFT = ("broker", "state", "faults", "rack", "coordinates")
REPLICAS = {"epoch": 5, "log end": 8}
SHARE = re.compile(
    r"leads (\d+) \+(\d+) internal · (\d+) replicas? · (\d+) out of the ISR · ([\d.]+ \w+) retained"
    r" · coordinates (\d+) groups? · (\d+) transactional ids? · (\d+) Produce requests? in flight"
)
TRANSACTIONS = "__transaction_state"


class BrokerJudge:
    """One broker at one instant."""

    def __init__(self, books: Books, number: int, now_us: int, session_us: int, verdict: Verdict) -> None:
        self.books, self.number, self.now_us, self.verdict = books, number, now_us, verdict
        self.session_us = session_us
        self.cluster, self.name = books.cluster, f"broker-{number}"
        self.book, self.place = books.cluster.brokers[number], f"place of broker-{number}"
        self.led = {key: one for key, one in self.cluster.partitions.items() if one.leader == number}
        self.has = {key: one for key, one in self.cluster.partitions.items() if number in one.replicas}
        self.out = [key for key, one in self.has.items() if one.lacks(number)]

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    def _internal(self, name: str) -> bool:
        return self.cluster.topics[self.cluster.partitions[name].topic].internal

    def _coordinator_of(self, transactional_id: str) -> str:
        number = coordinator_partition(transactional_id, self.cluster.topics[TRANSACTIONS].partitions)
        return f"{TRANSACTIONS}-{number}"

    @property
    def groups(self) -> list[str]:
        """The groups that it coordinates."""
        return [name for name, one in self.books.groups.items() if one.coordinator_partition in self.led]

    @property
    def ids(self) -> list[str]:
        """The transactional ids that it coordinates."""
        return [name for name in self.books.transactions.ids if self._coordinator_of(name) in self.led]

    @property
    def requests(self) -> int:
        """The Produce requests to it without an answer."""
        return sum(one.broker == self.number for each in self.cluster.producers.values() for one in each.requests)

    # --- the table --------------------------------------------------------------------------------------------------

    def row(self, header: str, row: str) -> None:
        """One line of the table of brokers."""
        table = Table(header, row, RIGHT, LEFT)
        state = state_of(self.book)
        self._claim((table.cell("state") or "").split()[-1] == state, f"{table.cell('state')}, not {state}")
        faults, shown = labels(self.books, self.name), (table.cell("faults") or "").strip()
        cut = shown.endswith("…") and faults.startswith(shown[:-1])
        self._claim(shown == faults or cut, f"faults {shown!r}, not {faults!r}")
        self._since(state, table.cell("since"))
        self._claim(("◆" in row) == (self.cluster.controller == self.number), "controller")
        internal = sum(map(self._internal, self.led))
        truths = {
            "leads": f"{len(self.led) - internal} +{internal}",
            "replicas": str(len(self.has)),
            "ISR out": str(len(self.out)),
            "in flight": str(self.requests),
        }
        for title, truth in truths.items():
            self._claim(table.cell(title) in {None, truth}, f"{title} {table.cell(title)}, not {truth}")
        rack = table.cell("rack")
        self._claim(rack is None or rack.strip() == (self.book.rack or "–") or "…" in rack, f"rack {rack}")
        coordinates = (table.cell("coordinates") or "").strip()
        if "…" not in coordinates and table.cell("coordinates") is not None:
            more = [f"{len(self.ids)} transactional id{'s' * (len(self.ids) != 1)}"] if self.ids else []
            self._claim(coordinates == ", ".join([*self.groups, *more]), f"coordinates {coordinates!r}")

    def _since(self, state: str, text: str | None) -> None:
        if text is None:
            return
        known = state not in {"frozen", "stopping", "fenced"}
        right = says(text, self.now_us - self.book.changed_us) if known else text == "–"
        self._claim(right, f"since {text}, not {self.book.changed_us}")

    # --- one broker -------------------------------------------------------------------------------------------------

    def process(self, text: str) -> None:
        """Its state, since when, and whether it is the controller."""
        match = re.match(rf"\S (\w+)(?: for {D})? · ", text)
        self._claim(match is not None and match[1] == state_of(self.book), text)
        if match is not None:
            self._since(match[1], match[2] or "–")
        leads_it = self.cluster.controller == self.number
        self._claim(("◆ active controller" in text) == leads_it, text)
        self._claim((f"rack {self.book.rack}" in text) if self.book.rack else "rack" not in text, text)

    def faults(self, texts: list[str]) -> None:
        """Every fault that names it, in a line of its own."""
        truth = naming(self.books, [self.name])
        parts = [part for text in texts for part in text.split(" · ")]
        self._claim(all_said(parts, truth, self.now_us), f"faults {parts}, not {[one.text for one in truth]}")

    def share(self, text: str) -> None:
        """Its partitions, coordinators and requests in numbers."""
        match = SHARE.fullmatch(text)
        if match is None:
            self._claim(False, f"unknown claim: {text!r}")
            return
        internal = sum(map(self._internal, self.led))
        truth = len(self.led) - internal, internal, len(self.has), len(self.out)
        self._claim(tuple(map(int, match.group(1, 2, 3, 4))) == truth, f"{text!r}, not {truth}")
        self._claim(bytes_says(match[5], sum(one.bytes for one in self.has.values())), f"{match[5]} retained")
        hosts = len(self.groups), len(self.ids), self.requests
        self._claim(tuple(map(int, match.group(6, 7, 8))) == hosts, f"{text!r}, not {hosts}")

    def replicas(self, names: list[str]) -> None:
        """Every replica has a row; those out of sync come first."""
        self._claim(sorted(names) == sorted(self.has), "replicas")
        self._claim(set(names[: len(self.out)]) == set(self.out), f"out of sync first: {names[: len(self.out)]}")

    def replica(self, name: str, header: str, row: str) -> None:
        """One replica's role, and its partition's leader and in-sync replicas."""
        one, table = self.has[name], Table(header, row, REPLICAS, ("partition", "role", "leader", "ISR"))
        role = "leader" if name in self.led else "▲ out" if name in self.out else "in sync"
        role = "adding" if self.number in one.adding and self.number not in one.isr else role
        self._claim((table.cell("role") or "").strip() == role, f"{name}: {table.cell('role')}, not {role}")
        leader, isr = (table.cell("leader") or "").strip(), (table.cell("ISR") or "").strip()
        self._claim(leads(leader, one, self.cluster.brokers), f"{name}: leader {leader!r}")
        least = self.cluster.topics[one.topic].min_insync_replicas
        self._claim(in_sync(isr, one, least), f"{name}: ISR {isr!r}, not {one.isr}")

    def coordinators(self, header: str, rows: dict[str, str]) -> None:
        """The groups and transactional ids that it coordinates, with their states."""
        truth = [*(f"group/{name}" for name in self.groups), *(f"transaction/{name}" for name in self.ids)]
        self._claim(list(rows) == truth, f"coordinates {list(rows)}, not {truth}")
        for key, row in rows.items():
            kind, _, name = key.partition("/")
            table = Table(header, row, {}, ("coordinates", "kind", "state", "partition"))
            known = self.books.groups[name].state if kind == "group" else self.books.transactions.ids[name].state
            self._claim((table.cell("state") or "").split()[-1] == known, f"{key}: {table.cell('state')}")

    # --- what ends with it ------------------------------------------------------------------------------------------

    def _able(self, number: int) -> bool:
        """Whether a broker can be elected."""
        one = self.cluster.brokers[number]
        alone = any(
            fault.fault_kind == "isolate" and f"broker-{number}" in fault.targets
            for fault in self.cluster.faults.values()
        )
        return one.serves and one.up and not (one.frozen or one.fenced or one.stopping or alone)

    def _successor(self, one: PartitionBook) -> int:
        others = (b for b in one.replicas if b != self.number and b in one.isr and self._able(b))
        return next(others, -1)

    def risk(self, rows: dict[str, str], vacant: str) -> None:
        """Each partition, group and transactional id that a kill would hit, and what happens to it."""
        if not self.book.up:
            self._claim(not rows and vacant == "its process is not running: start it first", vacant)
            return
        lost = {name for name, one in self.led.items() if self._successor(one) < 0}
        short = {name for name, one in self.has.items() if name not in lost and self._falls_short(one)}
        moved = {self.cluster.partitions[name].topic for name in self.led if name not in lost | short}
        truth = {f"lost/{name}" for name in lost} | {f"short/{name}" for name in short}
        truth |= {f"moved/{topic}" for topic in moved} | {f"group/{name}" for name in self.groups}
        truth |= {f"transaction/{name}" for name in self.ids}
        said = {key for key in rows if not key.startswith("controller/")}
        self._claim(said == truth, f"hits {sorted(said ^ truth)} otherwise")
        self._claim(("controller/controller" in rows) == (self.cluster.controller == self.number), "controller")
        for key, words in rows.items():
            self.verdict.read(f"{self.place}, {key}", words, self._consequence(*key.split("/", 1)))

    def _falls_short(self, one: PartitionBook) -> bool:
        least = self.cluster.least(one)
        left = [number for number in one.isr if number != self.number and self.cluster.brokers[number].up]
        return self.number in one.isr and one.leader >= 0 and len(left) < least <= len(one.isr)

    def _down(self, one: PartitionBook) -> list[int]:
        out = (number for number in one.isr if number != self.number and not self.cluster.brokers[number].up)
        return sorted(out)

    def _consequence(self, kind: str, name: str) -> Sentences:
        def after(text: str) -> bool:
            return says(text, self.session_us)

        if kind == "moved":
            return ((rf"new leader after {D}: (.+)", lambda m: after(m[1]) and self._moves(name, m[2])),)
        if kind == "controller":
            return ((r"active controller → (?:broker-(\d+)|none)", lambda m: m[1] != str(self.number)),)
        if kind in {"lost", "short"}:
            return self._loses(name)
        partition = self.books.groups[name].coordinator_partition if kind == "group" else self._coordinator_of(name)
        to = self._successor(self.cluster.partitions[partition])
        noun = "group" if kind == "group" else "transaction"
        return (
            (rf"{noun} coordinator → broker-(\d+) after {D}", lambda m: int(m[1]) == to and after(m[2])),
            (rf"{noun} coordinator: none until the broker returns after {D}", lambda m: to < 0 and after(m[1])),
        )

    def _loses(self, name: str) -> Sentences:
        one = self.cluster.partitions[name]
        least, to = self.cluster.topics[one.topic].min_insync_replicas, self._successor(one)
        next_leader = str(to) if name in self.led else None
        gone = ", ".join(f"broker-{number}" for number in self._down(one))
        below = r"▽ below min\.insync\.replicas (\d+): acks=all refused(?: · leader → broker-(\d+))?"
        return (
            (rf"✖ no leader until the broker returns after {D}", lambda m: says(m[1], self.session_us) and to < 0),
            (
                below + rf"(?: · (.+) down as well)? after {D}",
                lambda m: (int(m[1]), m[2], m[3] or "") == (least, next_leader, gone) and says(m[4], self.session_us),
            ),
        )

    def _moves(self, topic: str, text: str) -> bool:
        """`broker-3 of 1,4 · broker-1 of 7`: each number's successor."""
        said: dict[str, int] = {}
        for part in text.split(" · "):
            broker, _, numbers = part.partition(" of ")
            if numbers.endswith(" partitions"):
                to = int(broker.rpartition("-")[2])
                mine = [one for one in self.led.values() if one.topic == topic and self._successor(one) == to]
                only = [one for one in mine if not self._falls_short(one)]
                if len(only) != int(numbers.split()[0]):
                    return False
                continue
            said |= {f"{topic}-{number}": int(broker.rpartition("-")[2]) for number in numbers_of(numbers)}
        return all(name in self.led and self._successor(self.led[name]) == to for name, to in said.items())
