"""What a report says of lost records is so, in every flight of the fleet: a judge reads it and asks others."""

import msgspec
import pytest

from recordings.spark.report_model import Verdict
from recordings.spark.verdict import verdict
from tests.support.spark.five_readers import FiveReaders
from tests.support.spark.fleet import AT_LENGTH, EVERY_RUN
from tests.support.spark.loss_claims import false_claims, long_sentences
from tests.support.spark.reader_facts import FROM_LOGS, of_simulator

replace = msgspec.structs.replace

pytestmark = pytest.mark.timeout(1200)  # a Java virtual machine, and a machine that may be busy


def _judge(name: str, fleet: FiveReaders, said: Verdict) -> list[str]:
    flight = fleet.flights[name]
    return false_claims(said, of_simulator(flight)) + false_claims(said, fleet.by_sql[flight.run_id])


@pytest.mark.parametrize("name", EVERY_RUN)
def test_sentences_on_losses_are_true(name: str, every_run: FiveReaders) -> None:
    said = every_run.reported(name).verdict
    assert not _judge(name, every_run, said)
    assert not long_sentences(said)


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_LENGTH)
def test_sentences_on_losses_are_true_of_every_flight(name: str, whole_fleet: FiveReaders) -> None:
    said = whole_fleet.reported(name).verdict
    assert not _judge(name, whole_fleet, said)
    assert not long_sentences(said)


def test_the_flights_lose_records_in_every_way(every_run: FiveReaders) -> None:
    """Else the judge had nothing to read."""
    facts = {name: of_simulator(every_run.flights[name]) for name in EVERY_RUN}
    assert any(each["lost", "", -1] and not each[FROM_LOGS, "", -1] for each in facts.values())
    assert any(each["delivered_then_lost", "", -1] and not each["lost", "", -1] for each in facts.values())
    assert facts["unread-loss"][FROM_LOGS, "orders", -1] == 300


@pytest.mark.parametrize("name", ["short-unclean-election", "unread-loss", "short-offset-reset", "replaced-records"])
def test_a_verdict_that_looks_away_is_caught(name: str, every_run: FiveReaders) -> None:
    """Which is what it said of records that were lost after a group had processed them."""
    flight = every_run.reported(name)
    groups = [replace(group, lost=0, delivered_then_lost=0) for group in flight.groups]
    blind = replace(flight, log_losses=[], groups=groups, totals=replace(flight.totals, lost=0))
    found = _judge(name, every_run, verdict(blind))
    assert any("records were lost" in words for words in found)
    assert any("not a word of" in words for words in found)


@pytest.mark.parametrize("name", ["short-unclean-election", "unread-loss"])
def test_a_verdict_that_miscounts_is_caught(name: str, every_run: FiveReaders) -> None:
    flight = every_run.reported(name)
    more = [replace(loss, records=loss.records + 1) for loss in flight.log_losses]
    found = _judge(name, every_run, verdict(replace(flight, log_losses=more)))
    assert any("301 of them lost from the log" in words and "300 in truth" in words for words in found)
    assert any(words.startswith("Topic orders loses 301 acknowledged records") for words in found)


def test_a_verdict_that_names_another_group_is_caught(every_run: FiveReaders) -> None:
    flight = every_run.reported("short-unclean-election")
    names = {"billing": "vault", "vault": "billing"}
    swapped = [replace(group, group=names[group.group]) for group in flight.groups]
    found = _judge("short-unclean-election", every_run, verdict(replace(flight, groups=swapped)))
    assert any(words.startswith("vault has processed 300 acknowledged records") for words in found)
