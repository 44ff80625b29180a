"""Judges the answers of `why?` on producers and transactional ids."""

import re

from tests.console.judge.books import Books
from tests.console.judge.cluster_why_judge import ClusterWhyJudge
from tests.console.judge.grammar import Sentences, Verdict
from tests.console.judge.headline_judge import HeadlineJudge
from tests.console.judge.producer_books import ProducerBook
from tests.console.judge.spoken import DURATION, says
from tests.console.judge.transaction_books import UNDER_WAY

D = f"({DURATION})"
AWAY = {"is Dead": "Dead", "is Stopped": "Stopped", "is frozen": "Paused", "is fenced and sends nothing more": "Fenced"}
SIGNS = {"is down": "✖", "is frozen": "‖", "has not loaded it": "↻"}
Match = re.Match[str]


class ProducerWhyJudge:
    """The answers at one instant."""

    def __init__(self, books: Books, now_us: int, headline: HeadlineJudge, cluster: ClusterWhyJudge) -> None:
        self.books, self.now_us, self.headline, self.of_cluster = books, now_us, headline, cluster
        self.producers, self.ids = books.cluster.producers, books.transactions.ids
        self.transactions = cluster.transactions

    def subjects(self) -> dict[str, list[str]]:
        """The names of each kind."""
        return {"producer": list(self.producers), "transaction": list(self.ids)}

    def wanted(self, kind: str, name: str) -> list[str]:
        """Patterns of verdicts that may not be missing."""
        if kind == "transaction":
            one = self.ids[name]
            out = not self._has_coordinator(name)
            found = ["has no coordinator"] * out + ["refused for an old epoch"] * bool(one.refused)
            found += ["read_committed reads"] * bool(self._held_back("transaction", name))
            return found + ["is open for|markers"] * (one.started_us >= 0)
        book = self.producers[name]
        found = ["is Dead|is Stopped|is frozen|is fenced"] * (book.state in AWAY.values())
        found += ["epoch .+ is fenced"] * (name in self.books.outdated_producers())
        found += ["makes no progress"] * (name in self.headline._still()) + ["batches of"] * bool(self._refusing(book))
        found += ["read_committed reads"] * bool(self._held_back("producer", name))
        return found + ["failed"] * bool(book.failed)

    def _held_back(self, kind: str, name: str) -> list[str]:
        """Partitions where a transaction of the producer, or of the id, is stuck."""
        if kind == "transaction":
            last = self.ids[name].last
            producer_id = last.producer_id if last is not None else -1
        else:
            given = self.books.lives.producers[name].identity
            if given is None:
                return []
            one = self.books.transactions.of_producer(given.producer_id)
            if one is not None and one.last is not None and given.epoch < one.last.epoch and not one.raised:
                return []
            producer_id = given.producer_id
        holders = {each: self.transactions._holder(each) for each in self.headline.stuck_partitions()}
        return [each for each, held in holders.items() if held is not None and held[0] == producer_id]

    def _readers(self, kind: str, name: str) -> Sentences:
        """What is said of the readers that the subject's transaction holds back."""
        held = self._held_back(kind, name)
        part = "|".join(re.escape(each) for each in held)
        return self.of_cluster.readers(f"(?P<part>{part})")[:1] if held else ()

    def _has_coordinator(self, name: str) -> bool:
        cells = ["–", *(f"broker-{number}" for number in self.books.cluster.brokers)]
        return any(self._coordinated(name, cell) for cell in cells)

    def _coordinated(self, name: str, cell: str) -> bool:
        """Whether the screen of transactions may show this as the id's coordinator."""
        verdict = Verdict(self.now_us)
        verdict.read("", cell, self.transactions._coordinator(self.ids[name]))
        return not verdict.false

    def _refusing(self, book: ProducerBook) -> list[str]:
        """Partitions with its batches that have no live leader, a frozen one, or too few replicas in sync."""
        places = self.books.cluster.partitions
        short = [one for one in book.batches if len(places[one].isr) < self.of_cluster._least(places[one])]
        return [one for one in book.batches if one in short or not self.of_cluster._served(places[one])]

    def verdicts(self, kind: str, name: str) -> Sentences:
        """The sentences of a subject's verdicts."""
        return self._of_id(name) if kind == "transaction" else self._of_producer(name)

    def _of_producer(self, name: str) -> Sentences:
        book, of, still = self.producers[name], re.escape(name), self.headline._still()

        def waits(m: Match) -> bool:
            verdict, about = Verdict(self.now_us), m[1].partition(" ")[0]
            verdict.read("", m[1], self.of_cluster.verdicts("partition", about))
            return about in self._refusing(book) and not verdict.false

        def failed(m: Match) -> bool:
            most = max(book.failures.values(), default=0)
            right = int(m[1]) == book.failed and book.failures[m[2]] == most
            return right and int(m[3] or 0) == len(book.failures) - 1

        return (
            (rf"{of} ({'|'.join(AWAY)})", lambda m: book.state == AWAY[m[1]]),
            (rf"{of}'s epoch (\d+) is fenced, its transactional id has (\d+): its next request is refused",
             lambda m: self.books.outdated_producers().get(name) == (int(m[1]), int(m[2]))),
            (rf"{of} makes no progress: no acknowledgement for {D}(?:, last error (\w+))?",
             lambda m: name in still and says(m[1], still[name]) and (m[2] or "") == book.error),
            (rf"batches of {of} wait: (.+)", waits),
            *self._readers("producer", name),
            (rf"(\d+) records? of {of} failed: (\w+)(?: and (\d+) more errors)?", failed),
            (rf"{of} is (\w+): (\d+) records acknowledged, none failed",
             lambda m: not self.wanted("producer", name) and (m[1], int(m[2])) == (book.state, book.acked)),
        )  # fmt: skip

    def _of_id(self, name: str) -> Sentences:
        one, of = self.ids[name], re.escape(name)
        age_us = self.now_us - one.started_us
        ongoing = one.last is not None and one.last.state == "Ongoing"
        state = one.last.state if one.last is not None else "new"
        return (
            (rf"{of} has no coordinator: its partition of __transaction_state has no leader",
             lambda _: self._coordinated(name, "✖ no leader")),
            (rf"{of} has no coordinator: (broker-\d+) ({'|'.join(SIGNS)})",
             lambda m: self._coordinated(name, f"{SIGNS[m[2]]} {m[1]}")),
            (rf"{of} is (\w+): its markers are on their way",
             lambda m: state == m[1] and state in UNDER_WAY - {"Ongoing"}),
            (rf"{of}'s transaction is open for {D}(: its coordinator aborts it)?",
             lambda m: ongoing and says(m[1], age_us) and bool(m[2]) == one.raised),
            *self._readers("transaction", name),
            (rf"(\d+) requests? (?:was|were) refused for an old epoch of {of}", lambda m: int(m[1]) == one.refused),
            (rf"{of} is (\w+): no transaction is open",
             lambda m: not self.wanted("transaction", name) and m[1] == state),
        )  # fmt: skip

    def facts(self, kind: str, name: str, at_us: int) -> Sentences:
        """The sentences of facts that the event log does not have."""
        at_ms = at_us // 1_000
        common = self.of_cluster.facts("partition", "", at_us)
        if kind == "transaction":
            return common
        book, of = self.producers[name], re.escape(name)

        def request(m: Match) -> bool:
            oldest = min(book.requests, key=lambda one: one.sent_us)
            return (oldest.sent_us // 1_000, oldest.broker) == (at_ms, int(m[1]))

        return (
            (rf"{of} began to wait for an acknowledgement", lambda _: book.waiting_us // 1_000 == at_ms),
            (rf"{of}'s oldest batch was opened", lambda _: (book.oldest_us or 0) // 1_000 == at_ms),
            (rf"{of}'s oldest request in flight went to broker-(\d+)", request),
            *common,
        )

    def ends(self, kind: str, name: str) -> Sentences:
        """The sentences of what ends a condition."""
        if kind == "transaction":
            one = self.ids[name]
            left_us = self.transactions._left_us(one)
            return (
                (rf"its coordinator aborts it in {D} \(transaction.timeout.ms\)",
                 lambda m: left_us > 0 and says(m[1], left_us)),
                ("overdue: the coordinator's next scan aborts it", lambda _: left_us <= 0),
                *self.of_cluster.transaction_ends(),
            )  # fmt: skip
        book = self.producers[name]
        limit_us = 1_000 * book.limit(self.headline.declared[name], "delivery.timeout.ms")
        left_us = (book.oldest_us or 0) + limit_us - self.now_us
        there = [sentence for each in book.batches for sentence in self.of_cluster.ends("partition", each)]
        return (
            (rf"its oldest batch expires in {D} \(delivery.timeout.ms, .+\)", lambda m: says(m[1], left_us)),
            *((pattern, lambda m, pattern=pattern: self._there(book, m, pattern)) for pattern, _ in there),
            *self.of_cluster.transaction_ends(),
        )

    def _there(self, book: ProducerBook, match: Match, pattern: str) -> bool:
        """Whether a partition with batches of the producer has this end."""
        places = [one for each in book.batches for one in self.of_cluster.ends("partition", each)]
        return any(holds(match) for known, holds in places if known == pattern)
