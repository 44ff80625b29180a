"""The books of producers and transactional ids, kept from lines alone, and what a list says that they do not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cluster.view import ClusterView
from console.presenters.logged.producers import LoggedProducersListing, LoggedTransactionalIdsListing
from tests.console.judge.logged_judge import clock_words, rows_of

WIDTH = 220
OF_PRODUCER = re.compile(r"(\d{13}) .*?\[Producer clientId=([^,\]]+)(?:, transactionalId=([^\]]+))?\] (.*)")
OF_COORDINATOR = re.compile(r"(\d{13}) .*?\[TransactionCoordinator id=(\d+)\] (.*)")
IDENTITY = re.compile(r"ProducerId set to (\d+) with epoch (\d+)")
PRODUCE = re.compile(
    r"Got error produce response.* on topic-partition (\S+), (retrying|splitting).*\. Error: ([A-Z_]+).*"
)
FAILS = re.compile(r"Transiting to (fatal|abortable) error state due to \S*?(\w+)(?::.*)?")
INITIALIZED = re.compile(r"Initialized transactionalId (\S+) with producerId (\d+) and producer epoch (\d+) on .*")
TIMED_OUT = re.compile(r"Completed rollback of ongoing transaction for transactionalId (\S+) due to timeout")
LOST = re.compile(r"Node -?\d+ disc|Disconnecting from node -?\d+ due to (?:re|so)|Connection to node .* could not")
IN_DOUBT = "No inflight batches remaining"
READ = re.compile(r"Invoking InitProducerId for the first|Closing the Kafka producer with|Discovered \w+ coordinator")


@dataclass
class ProducerBook:
    """A producer."""

    used: str = "none"
    state: str = "unknown"
    identity: str = "unknown unknown"
    retried: int = 0
    split: int = 0
    lost: int = 0
    last: str = "none in the lines so far"

    def row(self, name: str) -> str:
        """How its row reads, its glyph left out."""
        counts = f"{self.retried} {self.split} {self.lost}"
        return f"{name} {self.used} {self.state} {self.identity} {counts} unknown {self.last}"


@dataclass
class IdBook:
    """A transactional id."""

    last: str = ""
    at: str = ""
    identity: str = "unknown unknown"
    broker: str = ""
    initialized: int = 0
    timed_out: int = 0

    def row(self, name: str) -> str:
        """How its row reads."""
        counts = f"{self.initialized} {self.timed_out} 0"
        return f"{name} unknown {self.last} {self.at} {self.identity} broker-{self.broker} {counts}"


def books_of(lines: Sequence[str], began_ms: int, until_ms: int) -> tuple[dict[str, ProducerBook], dict[str, IdBook]]:
    """The books after the lines up to an instant, counted from another one (ms since 1970)."""
    producers: dict[str, ProducerBook] = {}
    ids: dict[str, IdBook] = {}
    for line in lines:
        at = int(line[:13]) - began_ms
        if at > until_ms:
            break
        if found := OF_PRODUCER.fullmatch(line):
            _enter(producers, found[2], found[3], found[4])
        elif found := OF_COORDINATOR.fullmatch(line):
            _enter_id(ids, at, found[2], found[3])
    return producers, ids


def _enter(books: dict[str, ProducerBook], name: str, used: str | None, words: str) -> None:
    lost = LOST.match(words)
    identity, produce, fails = IDENTITY.fullmatch(words), PRODUCE.fullmatch(words), FAILS.fullmatch(words)
    if not (lost or identity or produce or fails or READ.match(words) or words.startswith(IN_DOUBT)):
        return
    book = books.setdefault(name, ProducerBook(used or "none"))
    book.lost += words.startswith(("Node ", "Disconnecting "))
    if words.startswith("Invoking"):
        book.state, book.identity = "Running", "unknown unknown"
    elif words.startswith("Closing"):
        book.state = "Stopped"
    elif identity:
        book.identity = f"{int(identity[1]):,} {int(identity[2]):,}"
    elif produce:
        book.retried += produce[2] == "retrying"
        book.split += produce[2] == "splitting"
        book.last = f"{produce[3]} ({produce[1]})"
    elif fails:
        fenced = fails[2] == "ProducerFencedException"
        book.last = "PRODUCER_FENCED" if fenced else fails[2]
        book.state = "AbortableError" if fails[1] == "abortable" else "Fenced" if fenced else "FatalError"


def _enter_id(books: dict[str, IdBook], at: int, broker: str, words: str) -> None:
    if found := INITIALIZED.fullmatch(words):
        book = books.setdefault(found[1], IdBook())
        book.last, book.initialized = "initialized", book.initialized + 1
        book.identity = f"{int(found[2]):,} {int(found[3]):,}"
    elif found := TIMED_OUT.fullmatch(words):
        book = books.setdefault(found[1], IdBook())
        book.last, book.timed_out = "timed out, aborted", book.timed_out + 1
    else:
        return
    book.at, book.broker = clock_words(at)[3:-2], broker


def false_claims(view: ClusterView, producers: dict[str, ProducerBook], ids: dict[str, IdBook]) -> Iterator[str]:
    """What the lists say of producers and transactional ids that the books do not."""
    assert view.logs is not None
    shown = sorted(re.sub(r" [●○✖‖?] ", " ", row) for row in rows_of(LoggedProducersListing(view.logs, WIDTH)))
    wanted = sorted(book.row(name) for name, book in producers.items())
    yield from (f"producers: {row}" for row in shown if row not in wanted)
    yield from (f"no producer reads: {row}" for row in wanted if row not in shown)
    shown = sorted(rows_of(LoggedTransactionalIdsListing(view.logs, WIDTH)))
    wanted = sorted(book.row(name) for name, book in ids.items())
    yield from (f"transactional ids: {row}" for row in shown if row not in wanted)
    yield from (f"no transactional id reads: {row}" for row in wanted if row not in shown)
