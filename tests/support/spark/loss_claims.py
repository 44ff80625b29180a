"""What a verdict says of lost records, read as a stranger reads it, and whether that is so.

It knows the sentences by their words alone, and the facts from its arguments.
"""

import re
from collections.abc import Iterator

from recordings.spark.report_model import Verdict
from tests.support.spark.reader_facts import DELETED, FROM_LOGS, Facts

NO_LOSS = ("o acknowledged record is lost", "none of them lost")
NUMBER = r"(?P<number>[\d,]+)"
ACKNOWLEDGED = rf"{NUMBER} acknowledged records?"
CLAIMS = {
    rf"^Data loss: {ACKNOWLEDGED} lost from the log\b": (FROM_LOGS, None),
    rf"^Data loss: {ACKNOWLEDGED} lost(?! from)": ("lost", None),
    rf"^Data loss:.* {NUMBER} lost by \d+ groups in all\b": ("lost", None),
    rf"^Data loss:.* {NUMBER} lost by (?!\d+ groups)(?P<whose>[^ ;,.]+)": ("lost", "group"),
    rf", {NUMBER} of them lost from the log": (FROM_LOGS, None),
    rf"^Topic (?P<whose>\S+) loses {ACKNOWLEDGED}: no replica's log holds (it|them) any more\.$": (FROM_LOGS, "topic"),
    rf"^(?P<whose>\S+) has processed {ACKNOWLEDGED} that no replica's log": ("delivered_then_lost", "group"),
    rf"^{ACKNOWLEDGED} (is|are) deleted before (?P<whose>\S+) reads (it|them)\.$": (DELETED, "group"),
    rf"^(?P<whose>\S+) loses {ACKNOWLEDGED} that it never processes\.$": ("lost", "group"),
    rf", {NUMBER} of them lost by (?P<whose>[^ ;,.]+)": ("lost", "group"),
}
"""A sentence's pattern → the fact that it states, and its subject; None: of the whole flight."""
MOST_WORDS = 20


def false_claims(said: Verdict, facts: Facts) -> list[str]:
    """The sentences on lost records that are not so, or that should be there and are not."""
    lines = [said.headline, *said.sentences]
    claimed = {claim: line for line in lines for claim in _claims(line)}
    found = [f"{line}: {facts.get(fact, 0)} in truth" for (fact, n), line in claimed.items() if facts.get(fact, 0) != n]
    lossless = facts["lost", "", -1] == facts[FROM_LOGS, "", -1] == 0
    if said.headline.startswith("Data loss") == lossless:
        found.append(f"{said.headline}: {'nothing was' if lossless else 'records were'} lost")
    for words in NO_LOSS:
        found += [f"{line}: records were lost" for line in lines if words in line and not lossless]
    told = {fact for fact, _ in claimed}
    found += [f"not a word of {fact}" for fact in _worth_a_sentence(facts) if fact not in told]
    return found


def long_sentences(said: Verdict) -> list[str]:
    """Those on lost records that take more words than the house allows."""
    return [line for line in said.sentences if list(_claims(line)) and len(line.split()) > MOST_WORDS]


def _claims(line: str) -> Iterator[tuple[tuple[str, str, int], int]]:
    for pattern, (what, whose) in CLAIMS.items():
        for match in re.finditer(pattern, line):
            yield (what, match["whose"] if whose else "", -1), int(match["number"].replace(",", ""))


def _worth_a_sentence(facts: Facts) -> Iterator[tuple[str, str, int]]:
    """Each topic's and each group's loss; what a group had before is worth one where a log lost it."""
    about = ["lost", FROM_LOGS, DELETED]
    if facts[FROM_LOGS, "", -1]:
        about.append("delivered_then_lost")
    for (what, whose, second), number in facts.items():
        if what in about and number and whose:
            yield what, whose, second
