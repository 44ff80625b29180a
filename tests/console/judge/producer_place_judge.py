"""Judges the place of a producer: its facts, clocks, partitions, errors and transactions."""

import re
from collections import Counter
from collections.abc import Callable

from cluster.config import Value
from tests.console.judge.books import Books
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.members_judge import holds_these
from tests.console.judge.named_faults import all_said, naming
from tests.console.judge.overview_judge import rate_says
from tests.console.judge.partition_judge import state_of
from tests.console.judge.producer_books import AGAIN, NEW, SENT
from tests.console.judge.seen_table import Table
from tests.console.judge.spoken import DURATION, bar_says, bytes_says, counts, instant, says
from tests.console.judge.transactions_judge import GLYPHS, TransactionsJudge

D = f"({DURATION})"
KEPT = 12
STATES = {"Running": "●", "Paused": "‖", "Fenced": "✖", "Stopped": "○", "Dead": "✖"}
CLOCKS = ("in flight", "oldest request", "oldest batch", "buffer")
BATCHES = {"unsent": 6, "in flight": 9, "to retry": 13, "oldest batch": 12, "in sync": 7}
OPEN = {"records": 7, "memory": 8, "age": 7, "in flight for": 13}
LAST = {"began": 8, "epoch": 5, "open for": 8, "markers took": 12}
FENCED = {
    "timeout": "transaction.timeout.ms passed",
    "InitProducerId": "another InitProducerId",
    "": "",
}


class ProducerPlaceJudge:
    """One producer at one instant; `declared`: its configuration in the scenario."""

    def __init__(self, books: Books, name: str, now_us: int, declared: dict[str, Value], verdict: Verdict) -> None:
        self.books, self.name, self.now_us, self.verdict = books, name, now_us, verdict
        self.declared, self.place = declared, f"place of producer {name}"
        self.book, self.story = books.cluster.producers[name], books.lives.producers[name]
        self.id = self.story.transactional_id

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    # --- facts ------------------------------------------------------------------------------------------------------

    def facts(self, rows: list[str]) -> None:
        """Every label once, each with its sentences."""
        judges: dict[str, Callable[[], Sentences]] = {
            "state": self._states,
            "records": self._records,
            "last error": self._errors,
            "identity": self._identities,
            "transaction": self._transactions,
            "member": self._members,
            "writes to": self._topics,
        }
        said = {row[2:13].strip(): row[15:].strip() for row in rows}
        parts = said.pop("faults", "").split(" · ")
        faults = naming(self.books, [self.name])
        self._claim(all_said(parts if parts != [""] else [], faults, self.now_us), f"faults {parts}")
        wanted = [
            label
            for label in judges
            if (label != "transaction" or self.id) and (label != "member" or self.name in self.books.members)
        ]
        self._claim(list(said) == wanted, f"facts {list(said)}, not {wanted}")
        for label, text in said.items():
            for part in text.split(" · "):
                self.verdict.read(f"{self.place}, {label}", part, judges[label]())
        self._claim(("makes no progress" in said["state"]) == self._still(), said["state"])
        if self.id:
            self._claim(("the id now has" in said["transaction"]) == self._is_old(), said["transaction"])

    def _still(self) -> bool:
        linger_us = 1_000 * self.book.limit(self.declared, "linger.ms")
        return self.book.waits and self.now_us - self.book.waiting_us >= 5_000_000 + linger_us

    def _states(self) -> Sentences:
        last = self.story.states[-1] if self.story.states else None
        state = self.book.state
        return (
            (r"(\S) (\w+)", lambda m: last is None and (m[1], m[2]) == (STATES[state], state)),
            (rf"(\S) (\w+) for {D}",
             lambda m: last is not None and (m[1], m[2]) == (STATES[state], state)
             and says(m[3], self.now_us - last.at_us)),
            (rf"makes no progress: no acknowledgement for {D}",
             lambda m: says(m[1], self.now_us - self.book.waiting_us)),
            ("(.+)", lambda m: last is not None and m[1] == last.reason),
        )  # fmt: skip

    def _records(self) -> Sentences:
        book = self.book
        return (
            ("no rate yet", lambda _: rate_says(self.books, self.name, self.now_us, "–")),
            (r"(\S+)/s acknowledged", lambda m: rate_says(self.books, self.name, self.now_us, m[1])),
            (r"(\d+) sent", lambda m: int(m[1]) == self.story.sent),
            (r"(\d+) acknowledged", lambda m: int(m[1]) == book.acked),
            (r"(\d+) failed", lambda m: int(m[1]) == book.failed),
            (r"(\d+) batch(?:es)? retried", lambda m: int(m[1]) == book.retries),
        )

    def _errors(self) -> Sentences:
        at_us = self.story.last_error_us
        return (
            ("none", lambda _: not self.book.error),
            (f"{D} ago", lambda m: bool(self.book.error) and says(m[1], self.now_us - at_us)),
            (r"(\w+)", lambda m: m[1] == self.book.error),
        )

    def _identities(self) -> Sentences:
        given = self.story.identity
        return (
            (r"client id (\S+)", lambda m: m[1] == self.name),
            ("no producer id", lambda _: given is None),
            (r"producer id (\d+)", lambda m: given is not None and int(m[1]) == given.producer_id),
            (r"epoch (\d+)", lambda m: given is not None and int(m[1]) == given.epoch),
        )

    def _is_old(self) -> bool:
        one, given = self.books.transactions.ids.get(self.id), self.story.identity
        last = one.last if one is not None else None
        if last is None or given is None:
            return False
        return (given.producer_id, given.epoch) != (last.producer_id, last.epoch)

    def _transactions(self) -> Sentences:
        one = self.books.transactions.ids.get(self.id)
        last = one.last if one is not None else None
        state, started_us = (one.state, one.started_us) if one is not None else ("", -1)
        judge = TransactionsJudge(self.books, self.now_us, self.verdict)
        ends = judge._times_out(one) if one is not None else ()
        return (
            (re.escape(self.id), lambda _: True),
            ("its coordinator does not know it yet", lambda _: last is None),
            (r"(\S) (\w+)", lambda m: (m[1], m[2]) == (GLYPHS[state], state)),
            (rf"open for {D}", lambda m: started_us >= 0 and says(m[1], self.now_us - started_us)),
            *((rf"times out {pattern}", holds) for pattern, holds in ends),
            (r"the id now has epoch (\d+) \(producer id (\d+)\)",
             lambda m: last is not None and (int(m[2]), int(m[1])) == (last.producer_id, last.epoch)),
        )  # fmt: skip

    def _members(self) -> Sentences:
        return (
            (re.escape(self.name), lambda _: self.name in self.books.members),
            ("its application writes with this producer", lambda _: self.name in self.books.members),
        )

    def _topics(self) -> Sentences:
        declared = self.story.declared
        return (
            ("no topic of its own", lambda _: not declared.topics),
            (r"([\d.e+]+) records/s configured", lambda m: abs(float(m[1]) - self.story.rate) <= self.story.rate / 1e5),
            ("(.+)", lambda m: m[1] == ", ".join(declared.topics)),
        )

    # --- clocks -----------------------------------------------------------------------------------------------------

    def clocks(self, rows: list[str], vacant: str) -> None:
        """Four clocks with their bars and limits, while its process sends."""
        book = self.book
        runs = book.state in {"Running", "Paused"}
        self._claim(tuple(row[2:16].strip() for row in rows) == (CLOCKS if runs else ()), f"clocks {rows}")
        if not runs:
            self._claim(vacant == f"it is {book.state}: no clock runs", vacant)
            return
        said = {row[2:16].strip(): (row[18:30], row[32:52].strip(), row[54:].strip()) for row in rows}
        brokers = Counter(one.broker for one in book.requests)
        words = ", ".join(f"{brokers[one]} to broker-{one}" for one in sorted(brokers)) or "none"
        slots = book.limit(self.declared, "max.in.flight.requests.per.connection")
        drawn, now, limit = said["in flight"]
        self._claim(now == words or now.endswith("…"), f"in flight {now}, not {words}")
        self._claim(bar_says(drawn, book.most_in_flight / slots), f"{drawn!r} for {book.most_in_flight} of {slots}")
        self._claim(limit == f"of {slots} (max.in.flight.requests.per.connection)", limit)
        request = min(book.requests, key=lambda one: one.sent_us, default=None)
        where = f"to broker-{request.broker}" if request is not None else ""
        self._age(said["oldest request"], request.sent_us if request is not None else -1, where, "request.timeout.ms")
        opened = [(one.opened_us, name) for name, each in book.batches.items() for one in each]
        oldest = min(opened, default=(-1, ""))
        self._age(said["oldest batch"], oldest[0], f"of {oldest[1]}", "delivery.timeout.ms")
        room = book.limit(self.declared, "buffer.memory")
        drawn, now, limit = said["buffer"]
        self._claim(bytes_says(now, book.held) and bar_says(drawn, book.held / room), f"buffer {drawn!r} {now}")
        match = re.fullmatch(r"of (.+) \(buffer\.memory\)", limit)
        self._claim(match is not None and bytes_says(match[1], room), f"{limit}, not {room}")

    def _age(self, said: tuple[str, str, str], since_us: int, what: str, key: str) -> None:
        drawn, now, limit = said
        limit_us = 1_000 * self.book.limit(self.declared, key)
        age_us = self.now_us - since_us if since_us >= 0 else 0
        match = re.fullmatch(rf"{D} (\S+(?: \S+)?)", now)
        right = now == "none" if since_us < 0 else match is not None and says(match[1], age_us)
        self._claim(right and bar_says(drawn, age_us / limit_us), f"{key}: {said}, not {age_us}")
        if match is not None and not now.endswith("…"):
            self._claim(match[2] == what, f"{key}: {now}, not {what}")
        of = re.fullmatch(rf"of {D} \({re.escape(key)}\)", limit)
        self._claim(of is not None and says(of[1], limit_us), f"{limit}, not {limit_us}")

    # --- partitions and errors --------------------------------------------------------------------------------------

    def partitions(self, keys: list[str], header: str, rows: list[str], vacant: str) -> None:
        """Every partition of its topics, with its batches by what they wait for."""
        cluster, topics = self.books.cluster, self.story.declared.topics
        known = {name for name, one in cluster.partitions.items() if one.topic in topics} | set(self.book.batches)
        self._claim(set(keys) == known, f"partitions {keys}, not {sorted(known)}")
        if not keys:
            self._claim(vacant == "it has written to none yet", vacant)
        for name, row in zip(keys, rows, strict=True):
            table, batches = Table(header, row, BATCHES, ("partition", "leader")), self.book.batches.get(name, [])
            for title, stage in (("unsent", NEW), ("in flight", SENT), ("to retry", AGAIN)):
                number = sum(one.stage == stage for one in batches)
                self._claim(table.cell(title) == str(number), f"{name}: {title} {table.cell(title)}, not {number}")
            age_us = self.now_us - min((one.opened_us for one in batches), default=0)
            oldest = table.cell("oldest batch") or ""
            self._claim(says(oldest, age_us) if batches else oldest == "–", f"{name}: oldest batch {oldest}")
            one = cluster.partitions[name]
            text = table.cell("in sync")
            self._claim(text in {None, f"{len(one.isr)}/{len(one.replicas)}"}, f"{name}: in sync {text}")
            if (text := table.cell("leader")) is not None:
                self.verdict.read(f"{self.place}, {name}", text.strip(), self._leaders(one.leader))

    def batches(self, header: str, rows: list[str], vacant: str, most: int) -> None:
        """Each batch without an outcome, with what it waits for."""
        carried = {id(batch): one for one in self.book.requests for batch in one.carries.values()}
        left: list[tuple[tuple[str, ...], int, int, int]] = []
        for name, each in self.book.batches.items():
            for batch in each:
                request = carried.get(id(batch))
                stage = {NEW: "in the buffer", AGAIN: "to be sent again"}.get(batch.stage, "unanswered")
                words = stage if request is None else f"in flight to broker-{request.broker}"
                told = name, words, str(batch.records) if batch.records else "–"
                left.append((told, batch.opened_us, request.sent_us if request is not None else -1, batch.held))
        self._claim(len(rows) == min(most, len(left)), f"{len(rows)} batches, not {len(left)}")
        if not rows:
            self._claim(vacant == "none: every batch has its outcome", vacant)
        for row in rows:
            table = Table(header, row, OPEN, ("partition", "batch"))
            said = tuple((table.cell(title) or "").strip() for title in ("partition", "batch", "records"))
            age, sent = table.cell("age") or "", table.cell("in flight for") or ""
            found = next((one for one in left if one[0] == said and self._aged(age, one[1], sent, one[2])), None)
            self._claim(found is not None, f"no batch is {said}, {age}, {sent}: {left[:3]}")
            if found is not None:
                left.remove(found)
                held = table.cell("memory") or ""
                self._claim(bytes_says(held, found[3]) if found[3] else held == "–", f"{said} holds {held}: {found}")

    def _aged(self, age: str, opened_us: int, sent: str, sent_us: int) -> bool:
        right = sent == "–" if sent_us < 0 else says(sent, self.now_us - sent_us)
        return right and says(age, self.now_us - opened_us)

    def _leaders(self, leader: int) -> Sentences:
        brokers = self.books.cluster.brokers
        return (
            ("✖ no leader", lambda _: leader < 0),
            (r"(?:\S )?broker-(\d+)(?: (\w+))?",
             lambda m: int(m[1]) == leader and (m[2] or "up") == state_of(brokers[leader])),
        )  # fmt: skip

    def errors(self, header: str, rows: list[str], vacant: str) -> None:
        """Every error that it was told, with the batches and records that it cost."""
        failed, again = self.book.failures, self.story.retried
        self._claim(len(rows) == len({*failed, *again}), f"{len(rows)} errors, not {failed} and {again}")
        if not rows:
            self._claim(vacant == "none: no batch was retried, no record failed", vacant)
        for row in rows:
            table = Table(header, row, {"batches to retry": 21, "records failed": 14}, ("error",))
            error = (table.cell("error") or "").strip()
            for title, known in (("batches to retry", again), ("records failed", failed)):
                text = table.cell(title) or ""
                self._claim(counts(text, known.get(error, 0)), f"{error}: {title} {text}, not {known.get(error, 0)}")

    # --- transactions -----------------------------------------------------------------------------------------------

    def transactions(self, note: str, header: str, rows: list[str], vacant: str) -> None:
        """The last transactions of its transactional id, newest first."""
        truth = self.books.lives.transactions_of(self.id) if self.id else []
        truth = list(reversed(truth))
        limit = KEPT + (bool(truth) and truth[0].ended_us < 0)
        self._claim(len(rows) == min(limit, len(truth)), f"{len(rows)} transactions, not {len(truth)}")
        if not rows:
            self._claim(vacant == ("none has begun" if self.id else "it has no transactional.id"), vacant)
        one = self.books.transactions.ids.get(self.id)
        numbers = (one.begun, one.commits, one.aborts) if one is not None else ()
        match = re.fullmatch(r"(\d+) begun, (\d+) committed, (\d+) aborted", note)
        self._claim(tuple(map(int, match.groups())) == numbers if match else not note and one is None, note)
        left = ("outcome", "partitions", "fenced because")
        for row, known in zip(rows, truth, strict=False):
            table = Table(header, row, LAST, left)
            began = table.cell("began") or ""
            right = began == "–" if known.start_us < 0 else _instant_says(began, known.start_us)
            self._claim(right, f"began {began}, not {known.start_us}")
            self._claim(table.cell("epoch") in {None, str(known.epoch)}, f"epoch {table.cell('epoch')} of {known}")
            outcome = (table.cell("outcome") or "").strip()
            self._claim(outcome == known.outcome, f"{outcome}, not {known.outcome}: {known}")
            ended_us = known.ended_us if known.ended_us >= 0 else self.now_us
            closed_us = known.decided_us if known.decided_us >= 0 else ended_us
            lasted = table.cell("open for") or ""
            right = lasted == "–" if known.start_us < 0 else says(lasted, closed_us - known.start_us)
            self._claim(right, f"open for {lasted}: {known}")
            if (text := table.cell("markers took")) is not None:
                unmarked = known.decided_us < 0 or known.outcome == "✖ lost"
                right = text == "–" if unmarked else says(text, ended_us - known.decided_us)
                self._claim(right, f"markers took {text}: {known}")
            if (text := table.cell("partitions")) is not None:
                text = text.strip()
                right = (text == "–") == (not known.partitions) and (text == "–" or holds_these(text, known.partitions))
                self._claim(right, f"partitions {text!r}, not {known.partitions}")
            words = (table.cell("fenced because") or "").strip()
            self._claim(words == FENCED[known.fenced_for] or words.endswith("…"), f"{words!r}: {known}")


def _instant_says(text: str, at_us: int) -> bool:
    return instant(text) <= at_us < instant(text) + 100_000
