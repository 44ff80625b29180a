"""Judges the screen of transactions: ids, partitions held back and by what, the states and which ids are in them."""

from cluster import events as e
from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.members_judge import holds_these
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import DURATION, counts, says
from tests.console.judge.transaction_books import UNDER_WAY, IdBook, Piece, coordinator_partition

D = f"({DURATION})"
LOG = "__transaction_state"
GLYPHS = {
    "Empty": "○", "Ongoing": "▶", "PrepareCommit": "↻", "PrepareAbort": "↻", "CompleteCommit": "●",
    "CompleteAbort": "✖", "PrepareEpochFence": "↻", "Dead": "✖",
}  # fmt: skip
GOES_TO = {
    "Empty": "Ongoing Dead", "Ongoing": "PrepareCommit PrepareAbort PrepareEpochFence",
    "PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort",
    "CompleteCommit": "Empty Ongoing Dead", "CompleteAbort": "Empty Ongoing Dead",
    "PrepareEpochFence": "PrepareAbort", "Dead": "",
}  # fmt: skip
"""`TransactionState`'s table of valid previous states, inverted."""

NOTHING_YET = ("no producer of this flight has a transactional.id", "the cluster is being built …")
RIGHT = {"pid": 4, "epoch": 5, "open": 6, "times out": 9, "begun": 6, "commits": 7, "aborts": 6, "fenced": 6}
LEFT = ("id", "state", "coordinator", "partitions")


class TransactionsJudge:
    """The screen at one instant."""

    def __init__(self, books: Books, now_us: int, verdict: Verdict) -> None:
        self.books, self.now_us, self.verdict = books, now_us, verdict
        self.ids = books.transactions.ids

    # --- ids --------------------------------------------------------------------------------------------------------

    def listed(self, names: list[str], vacant: str) -> None:
        """Every id with an event has its line; without ids, the sentence says so."""
        self.verdict.claim(set(names) == set(self.ids), "transactions", f"{names}, not {sorted(self.ids)}")
        if not names:
            self.verdict.claim(vacant in NOTHING_YET, "transactions", vacant)

    def transactional_id(self, name: str, header: str, row: str) -> None:
        """One line of the table of ids."""
        one, place = self.ids[name], f"transactional id {name}"
        table = Table(header, row, RIGHT, LEFT)
        shown = "EpochFence" if one.raised else one.state or "–"
        state = table.cell("state") or ""
        self.verdict.claim(state == f"{GLYPHS.get(one.state, '?')} {shown}", place, f"is {state!r}, not {one.state}")
        last = one.last
        numbers = {
            "pid": last.producer_id if last else -1,
            "epoch": last.epoch if last else -1,
            "begun": one.begun,
            "commits": one.commits,
            "aborts": one.aborts,
            "fenced": one.refused,
        }
        for title, truth in numbers.items():
            text = table.cell(title)
            right = text is None or (text == "–" and truth < 0) or (text != "–" and counts(text, truth))
            self.verdict.claim(right, place, f"{title} {text}, not {truth}")
        self.verdict.read(f"{place}, open", table.cell("open") or "", self._open(one))
        self.verdict.read(f"{place}, times out", table.cell("times out") or "", self._times_out(one))
        if (text := table.cell("coordinator")) is not None:
            self.verdict.read(f"{place}, coordinator", text, self._coordinator(one))
        if (text := table.cell("partitions")) is not None:
            partitions = last.partitions if last else ()
            right = (text == "–") == (not partitions) and (text == "–" or holds_these(text, partitions))
            self.verdict.claim(right, place, f"partitions {text!r}, not {partitions}")

    def _open(self, one: IdBook) -> Sentences:
        return (
            ("–", lambda _: one.started_us < 0),
            (D, lambda m: one.started_us >= 0 and says(m[1], self.now_us - one.started_us)),
        )

    def _times_out(self, one: IdBook) -> Sentences:
        left_us = self._left_us(one)
        ongoing = one.last is not None and one.last.state == "Ongoing"
        return (
            ("–", lambda _: not ongoing),
            ("▲ overdue", lambda _: ongoing and left_us <= 0),
            (f"in {D}", lambda m: ongoing and left_us > 0 and says(m[1], left_us)),
        )

    def _left_us(self, one: IdBook) -> int:
        return one.started_us + one.last.timeout_ms * 1_000 - self.now_us if one.last is not None else 0

    def _coordinator(self, one: IdBook) -> Sentences:
        """The leader of the id's partition, if its process answers and has loaded the id."""
        cluster = self.books.cluster
        number = coordinator_partition(one.name, sum(name.rpartition("-")[0] == LOG for name in cluster.partitions))
        leader = cluster.partitions[f"{LOG}-{number}"].leader
        broker = cluster.brokers[leader] if leader >= 0 else None
        loaded = one.last is not None and one.last.broker == leader
        up = broker is not None and broker.up
        able = broker is not None and up and not broker.frozen
        serves = able and broker is not None and broker.registered and loaded
        return (
            ("–", lambda _: one.last is None),
            (r"✖ no leader", lambda _: leader < 0),
            (r"✖ broker-(\d+)", lambda m: int(m[1]) == leader and not up),
            (r"‖ broker-(\d+)", lambda m: int(m[1]) == leader and up and not able),
            (r"↻ broker-(\d+)", lambda m: int(m[1]) == leader and able and not serves),
            (r"broker-(\d+)", lambda m: int(m[1]) == leader and serves),
        )

    # --- partitions held back ---------------------------------------------------------------------------------------

    def held(self, names: list[str], vacant: str) -> None:
        """The partitions whose last stable offset is below the high watermark, and no others."""
        truth = [
            name
            for name, log in self.books.transactions.logs.items()
            if log.pieces and self.books.stable_offset(name) < self.books.cluster.partitions[name].high_watermark
        ]
        self.verdict.claim(sorted(names) == sorted(truth), "held back", f"{names}, not {truth}")
        if not names:
            self.verdict.claim("nothing held back" in vacant, "held back", vacant)

    def held_back(self, name: str, header: str, row: str) -> None:
        """One line of the table of partitions held back."""
        place, partition = f"held back, {name}", self.books.cluster.partitions[name]
        table = Table(header, row, {"LSO": 7, "HW": 7, "waiting": 7, "since": 8}, ("partition", "held back by"))
        stable, high = self.books.stable_offset(name), partition.high_watermark
        for title, truth in (("LSO", stable), ("HW", high), ("waiting", high - stable)):
            text = table.cell(title)
            self.verdict.claim(text is None or counts(text, truth), place, f"{title} {text}, not {truth}")
        holder = self._holder(name)
        if holder is None:
            self.verdict.claim(False, place, "nothing holds it back")
            return
        words = table.cell("held back by") or ""
        if "…" not in words:
            self.verdict.read(f"{place}, by", words.strip(), self._reasons(name, *holder))
        since = table.cell("since") or ""
        one, marker = self.books.transactions.of_producer(holder[0]), holder[1]
        known = marker is None and one is not None and self._writes(one, name)
        right = says(since, self.now_us - one.started_us) if known and one is not None else since == "–"
        self.verdict.claim(right, place, f"since {since!r}")

    def _holder(self, name: str) -> tuple[int, Piece | None] | None:
        partition = self.books.cluster.partitions[name]
        unread = self.books.transactions.logs[name].unread(partition.high_watermark)
        return unread[min(unread)] if unread else None

    @staticmethod
    def _writes(one: IdBook, name: str) -> bool:
        """Whether this partition is one of the transaction under way: else the open transaction there hangs."""
        return one.last is not None and one.last.state in UNDER_WAY and name in one.last.partitions

    def _reasons(self, name: str, producer_id: int, marker: Piece | None) -> Sentences:
        one = self.books.transactions.of_producer(producer_id)
        called = one.name if one is not None else f"producer id {producer_id}"
        state = one.last.state if one is not None and one.last is not None else ""
        mine = one is not None and marker is None and self._writes(one, name)
        left_us = self._left_us(one) if one is not None else 0
        end = {"COMMIT": "committed", "ABORT": "aborted"}.get(marker.marker if marker is not None else "", "")
        ongoing, stray = mine and state == "Ongoing", marker is None and one is not None and not mine
        return (
            (r"hanging: no transactional id has producer id (\d+)",
             lambda m: marker is None and one is None and int(m[1]) == producer_id),
            (r"hanging: (\S+) is (\w+): its coordinator has no such ongoing transaction",
             lambda m: stray and state not in UNDER_WAY and (m[1], m[2]) == (called, state)),
            (r"hanging: (\S+)'s (\w+) transaction lacks this partition",
             lambda m: stray and state in UNDER_WAY and (m[1], m[2]) == (called, state)),
            (r"(\S+), (Prepare\w+): its markers are on their way", lambda m: mine and (m[1], m[2]) == (called, state)),
            (r"(\S+), Ongoing, ▲ overdue", lambda m: ongoing and m[1] == called and left_us <= 0),
            (rf"(\S+), Ongoing, {D} left", lambda m: ongoing and m[1] == called and says(m[2], left_us)),
            (r"(\S+|producer id \d+), (committed|aborted): HW not past its marker at (\d+)",
             lambda m: marker is not None and (m[1], m[2], int(m[3])) == (called, end, marker.offset)),
        )  # fmt: skip

    # --- states -----------------------------------------------------------------------------------------------------

    def state(self, name: str, header: str, row: str) -> None:
        """A state of Kafka's, where it may go, and which ids are in it."""
        place, table = f"state {name}", Table(header, row, {}, ("state", "next states", "now", "what it means"))
        self.verdict.claim(table.cell("state") == f"{GLYPHS[name]} {name}", place, table.cell("state") or "")
        shown = (table.cell("next states") or "").replace("…", "Prepare")
        goes = set() if shown == "(final)" else set(shown.split(", "))
        self.verdict.claim(goes == set(GOES_TO[name].split()), place, f"next states {shown!r}")
        here = (table.cell("now") or "").strip()
        ids = [one.name for one in self.ids.values() if one.state == name]
        said = [one for one in here.removeprefix("◀ ").removesuffix("…").split(", ") if one]
        whole = said == ids if "…" not in here else ", ".join(ids).startswith(", ".join(said))
        self.verdict.claim(whole, place, f"now {here!r}, not {ids}")

    def nothing_befell(self, words: str) -> None:
        """The sentence of an empty list of events."""
        noted = (e.TransactionFenced, e.ProducerEpochRefused, e.TransactionOffsetsRefused)
        befell = any(
            isinstance(event, noted) or (isinstance(event, e.TransactionStateChanged) and event.state == "PrepareAbort")
            for events in self.books.cluster.by_ms.values()
            for event in events
            if not getattr(event, "loaded", False)
        )
        self.verdict.claim(not befell, "transactions, events", words)
