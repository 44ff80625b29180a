"""Judges the place of a partition's records: each batch, its records, its transaction, and what was not appended."""

import re

from cluster import events as e
from tests.console.judge.books import Books
from tests.console.judge.grammar import Verdict
from tests.console.judge.record_books import ends_of
from tests.console.judge.spoken import instant

Cells = dict[str, str]
STATES = {"COMMIT": "committed", "ABORT": "aborted", "": "open"}
REMEMBERED = 20_000  # batches of all partitions
BEYOND, HINT = "above HW", "enter: records"
FROM = re.compile(r"from offset (\d+) on; `describe records` prints all")
NONE_REFUSED = "none known: events tell duplicates, retriable errors and old epochs"


class RecordsJudge:
    """One partition's records at one instant."""

    def __init__(self, books: Books, name: str, verdict: Verdict) -> None:
        self.verdict, self.place = verdict, f"records of {name}"
        self.records = books.records
        self.logs, self.one = books.records.of(name), books.cluster.partitions[name]
        self.ends = ends_of(self.logs.log)
        self.batches = {one.base_offset: one for one in self.logs.log}

    def _claim(self, holds: bool, words: str) -> None:
        self.verdict.claim(holds, self.place, words)

    def listed(self, keys: list[str], most: int) -> None:
        """The newest batches of the log that are not deleted; those with many newer ones may be forgotten."""
        start = self.one.log_start
        known = {base: one for base, one in self.batches.items() if base + one.count > start and self.logs.left(one)}
        truth = [str(base) for base in reversed(known)][:most]
        least = min(most, sum(not self.records.is_old(one, REMEMBERED) for one in known.values()))
        right = keys == truth[: len(keys)] and len(keys) >= least
        self._claim(right, f"batches {keys[:5]} of {len(keys)}, not {truth[:5]} of {len(truth)}")

    def note(self, text: str, oldest: str) -> None:
        """Where what is shown begins."""
        match = FROM.fullmatch(text)
        begins = int(oldest.partition("–")[0]) if oldest else -1
        right = int(match[1]) == begins > self.one.log_start if match else begins <= max(0, self.one.log_start)
        self._claim(right, f"{text!r}, the oldest row is {oldest!r}")

    def batch(self, key: str, cells: Cells) -> None:
        """A row."""
        batch = self.batches.get(int(key))
        if batch is None:
            self._claim(False, f"no batch begins at {key}")
            return
        last = batch.base_offset + batch.count - 1
        self._claim(cells["offsets"] == _span(batch.base_offset, last), f"offsets {cells['offsets']} of {key}")
        left = str(len(self.logs.left(batch)))
        self._claim(cells.get("records", left) == left, f"records {cells.get('records')} of {key}, not {left}")
        self._claim(instant(cells["appended"]) == batch.at_us // 1000 * 1000, f"appended {cells['appended']} of {key}")
        number = f"#{batch.first_serial}" if batch.count == 1 and batch.first_serial >= 0 else ""
        writer = (batch.producer or "coordinator") + number
        right = cells["producer"] == batch.producer or is_cut(cells["producer"], writer)
        self._claim(right, f"{cells['producer']} of {key}, not {writer}")
        truth = [str(number) if number >= 0 else "–" for number in (batch.producer_id, batch.epoch)]
        self._claim([cells["id"], cells["epoch"]] == truth, f"id, epoch {cells['id']}, {cells['epoch']}, not {truth}")
        first = batch.base_sequence
        numbers = _span(first, (first + batch.count - 1) % 2**31) if first >= 0 else "–"
        self._claim(cells["sequence"] == numbers, f"sequence {cells['sequence']} of {key}, not {numbers}")
        epoch = str(batch.leader_epoch)
        self._claim(cells.get("leader epoch", epoch) == epoch, f"leader epoch {cells.get('leader epoch')}, not {epoch}")
        self._claim(is_cut(cells["state"], self._state(key)), f"{cells['state']!r} of {key}, not {self._state(key)!r}")

    def _state(self, key: str) -> str:
        batch, said = self.batches[int(key)], list[str]()
        if batch.marker:
            said.append(f"{batch.marker} marker")
        elif batch.transactional:
            said.append(STATES[self.ends[batch.base_offset]])
        if batch.base_offset + batch.count > self.one.high_watermark:
            said.append(BEYOND)
        repeated = f"duplicate of the batch at offset {key}"
        times = sum(words == repeated and client == batch.producer for _, client, words in self.logs.refused)
        if times:
            said.append(f"{times} duplicate{'s' * (times > 1)} refused")
        if batch.count == 1 and batch.producer and not batch.marker:
            said.append(_key(batch, 0))
        return " · ".join(said) or (HINT if len(self.logs.left(batch)) > 1 else "")

    def record(self, key: str, cells: Cells) -> None:
        """A record of an unfolded batch."""
        base, _, offset = key.partition("/")
        batch, place = self.batches[int(base)], int(offset) - int(base)
        self._claim(int(offset) in self.logs.left(batch) and cells["offsets"] == offset, f"record {offset} of {base}")
        number = f"#{batch.first_serial + place}" if batch.first_serial >= 0 else ""
        self._claim(cells["producer"] == number, f"{cells['producer']} at {offset}, not {number}")
        told = batch.created_us != -1  # an older recording tells no keys
        truth = [_key(batch, place)] if batch.producer and told else []
        if place == 0 and batch.created_us >= 0:
            truth.append(f"created {_clock(batch.created_us)}")
        right = is_cut(cells["state"], " · ".join(truth))
        self._claim(right, f"{cells['state']!r} at {offset}, not {truth}")
        numbers = str((batch.base_sequence + place) % 2**31) if batch.base_sequence >= 0 else "–"
        self._claim(cells["sequence"] == numbers, f"sequence {cells['sequence']} at {offset}, not {numbers}")

    def refused(self, rows: list[Cells], vacant: str) -> None:
        """What was not appended, newest first."""
        truth = self.logs.refused[::-1]
        self._claim(len(rows) == len(truth), f"{len(rows)} not appended, not {len(truth)}")
        if not truth:
            self._claim(vacant == NONE_REFUSED, vacant)
        for cells, (at_us, client, answer) in zip(rows, truth, strict=False):
            said = cells["client"], cells["answer"]
            right = is_cut(said[0], client) and is_cut(said[1], answer)
            self._claim(right, f"{said}, not {(client, answer)}")
            self._claim(instant(cells["answered"]) == at_us // 1000 * 1000, f"answered {cells['answered']}")


def _key(batch: e.RecordsAppended, place: int) -> str:
    """The key of a record, in words."""
    keys = dict(enumerate(batch.keys))
    return "no key" if keys.get(place, -1) == -1 else f"key {keys[place]}"


def _clock(at_us: int) -> str:
    """`12:41.350`, with hours when there are any."""
    seconds, ms = divmod(at_us // 1000, 1000)
    hours = f"{seconds // 3600:02}:" if seconds >= 3600 else ""
    return f"{hours}{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


def is_cut(said: str, truth: str) -> bool:
    """Whether a cell has the text, or its beginning where the column is too narrow."""
    return said == truth or (said.endswith("…") and len(said) > 1 and truth.startswith(said[:-1]))


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}–{last}"
