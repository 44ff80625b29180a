"""The faults in force that name an object, as the raw events tell them, and what a screen may say of each."""

import re
from collections.abc import Iterable

from cluster import events as e
from tests.console.judge.books import Books
from tests.console.judge.spoken import DURATION, says

LABELS = {
    "pause_partitions": "pause()",
    "slow_member": "slowed",
    "cut": "link cut",
    "cut_one_way": "link cut",
    "hold": "link held",
    "slow_link": "slow link",
    "isolate": "isolated",
    "slow_disk": "slow disk",
    "fill_disk": "disk full",
    "lose_responses": "response lost",
}
SAID = re.compile(rf"▲ (?P<text>.+) \((?P<age>{DURATION}) ago(?:, ends in (?P<left>{DURATION}))?\)")


def naming(books: Books, names: Iterable[str]) -> list[e.FaultStarted]:
    """The faults that name one of these, oldest first."""
    wanted, faults = set(names), books.cluster.faults
    return [faults[number] for number in sorted(faults) if wanted & set(faults[number].targets)]


def labels(books: Books, name: str) -> str:
    """`slow disk, link cut`: the labels of an object's faults, each once."""
    found = [LABELS[fault.fault_kind] for fault in naming(books, [name]) if fault.fault_kind in LABELS]
    return ", ".join(dict.fromkeys(found))


def all_said(parts: list[str], faults: list[e.FaultStarted], now_us: int) -> bool:
    """Whether there is one part for each fault: its command, when it began, and when it ends by itself."""
    if len(parts) != len(faults):
        return False
    for part, fault in zip(parts, faults, strict=True):
        match = SAID.fullmatch(part)
        if match is None or match["text"] != fault.text or not says(match["age"], now_us - fault.at_us):
            return False
        lasting = fault.ends_at_us < 0
        if lasting != (match["left"] is None) or not (lasting or says(match["left"], fault.ends_at_us - now_us)):
            return False
    return True
