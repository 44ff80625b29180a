"""The verdict: the flight in a headline and some sentences, for a reader with half a minute.

The headline names loss first, then the facts of all analyses, the gravest first, while they fit. The sentences are
those of the analyses, in the order of `ANALYSES`. Each derives from the numbers of the report alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from recordings.spark.analyses.analysis import Analysis, Fact
from recordings.spark.analyses.log_losses import harms, loses_records
from recordings.spark.analyses.table import ANALYSES
from recordings.spark.formatting import clock, listed, many
from recordings.spark.report_model import FlightReport, Verdict

CALM, EVENTFUL, HARM = "calm", "eventful", "harm"
UNJUDGED = Verdict(level=CALM, headline="", sentences=[])
FACTS_BESIDE_LOSS = 2
WORDS = 20
"""Of a headline: the sentences have what does not fit."""


def verdict(flight: FlightReport, analyses: Sequence[Analysis[Any]] = ANALYSES) -> Verdict:
    """Judge a flight; does not read its own `verdict`."""
    facts = sorted((fact for analysis in analyses for fact in analysis.facts(flight)), key=lambda fact: fact.gravity)
    calm = not facts and not any(analysis.eventful(flight) for analysis in analyses)
    level = HARM if list(harms(flight)) else CALM if calm else EVENTFUL
    sentences = [*_damage(flight), *(each for analysis in analyses for each in analysis.sentences(flight))]
    return Verdict(level=level, headline=_headline(flight, level, facts), sentences=sentences)


def _headline(flight: FlightReport, level: str, facts: list[Fact]) -> str:
    if level == CALM:
        return "Calm: no acknowledged record is lost, every group keeps up, and no group rebalances."
    said = [fact.text for fact in facts]
    if level == EVENTFUL:
        return _fitting("No acknowledged record is lost", said)
    kind = "Data loss" if loses_records(flight) else "Order broken"
    return _fitting(f"{kind}: {listed(list(harms(flight)))}", said[:FACTS_BESIDE_LOSS])


def _fitting(first: str, facts: list[str]) -> str:
    """The first fact and, of the others, as many as a headline has words for."""
    said = [first]
    for fact in facts:
        if len(" ".join([*said, fact]).split()) > WORDS:
            break
        said.append(fact)
    return "; ".join(said) + "."


def _damage(flight: FlightReport) -> Iterator[str]:
    if not flight.complete:
        yield f"The recording stops early: everything here holds up to {clock(flight.virtual_us)}."
    if not flight.reconciliation.equal:
        missing = flight.reconciliation.missing_events
        yield f"The tables lack {many(missing, 'recorded event')}: trust no number here."
