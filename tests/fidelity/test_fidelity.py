"""What a real Kafka cluster with Java clients did, Flightdeck does: every trace beside its flight."""

import re
from pathlib import Path

import pytest

from recordings.scenarios.loader import load
from tests.fidelity.certificate import CERTIFICATE, certificate
from tests.fidelity.comparisons import comparison, judged, traces
from tests.fidelity.differences import KINDS, complaints, read_entries
from tests.fidelity.traces import SCENARIOS, sha256

pytestmark = pytest.mark.xdist_group("fidelity")  # one process: each flight is flown once

FIDELITY = Path(__file__).parents[2] / "FIDELITY.md"


@pytest.mark.parametrize("name", traces())
def test_a_real_trace_and_its_flight_differ_only_as_listed(name: str) -> None:
    entries = read_entries()
    found = comparison(name)
    assert sum(found.agreeing.values()) > 5
    assert complaints(name, judged(name), entries) == []


def test_every_permitted_difference_occurs_in_a_trace_that_exists() -> None:
    entries = read_entries()
    assert len({entry.id for entry in entries}) == len(entries)
    for entry in entries:
        assert entry.kind in KINDS
        assert entry.counts, f"{entry.id} occurs nowhere"
        assert set(entry.counts) <= set(traces()), entry.id
        assert min(entry.counts.values()) > 0


def test_a_stated_difference_rests_on_a_row_of_fidelity_md() -> None:
    rows = {line.split("|")[1].strip() for line in FIDELITY.read_text(encoding="utf-8").splitlines() if line[:1] == "|"}
    for entry in read_entries():
        assert bool(entry.row) == (entry.kind == "stated"), entry.id
        assert not entry.row or entry.row in rows, f"{entry.id}: FIDELITY.md has no row {entry.row!r}"


def test_no_cell_of_fidelity_md_is_longer_than_forty_words() -> None:
    lines = [line for line in FIDELITY.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    cells = [cell.strip() for line in lines for cell in line.split("|")[1:-1]]
    assert len(cells) > 200
    assert [cell for cell in cells if len(cell.split()) > 40] == []


def test_a_reason_that_is_that_of_another_entry_names_one_that_is_there() -> None:
    """`--recount` leaves entries out: a reason must not go with them."""
    entries = {entry.id for entry in read_entries()}
    for entry in read_entries():
        others = re.findall(r"\b[Aa]s ([\w.-]*\w)(?=[.:,]( |$))", entry.because)
        assert {name for name, _ in others} <= entries, f"{entry.id}: {entry.because}"


def test_a_trace_is_of_the_scenario_file_that_is_there() -> None:
    for name, trace in traces().items():
        if trace.head.scenario_sha256:
            assert trace.head.scenario_sha256 == sha256(trace.scenario_file), f"record {name} again"


def test_every_scenario_can_be_flown_and_was_recorded() -> None:
    recorded = {trace.head.scenario for trace in traces().values()}
    for path in SCENARIOS.glob("*.toml"):
        assert load(str(path)).spec.until_us > 0
        assert path.stem in recorded, f"{path.stem} has no trace"


def test_the_title_of_the_certificate_names_the_release_that_is_simulated() -> None:
    simulated = re.search(r'"Kafka" is release ([\d.]+\d)', FIDELITY.read_text(encoding="utf-8"))
    assert simulated
    assert CERTIFICATE.read_text(encoding="utf-8").splitlines()[0] == f"# Certificate for Apache Kafka {simulated[1]}"


def test_the_certificate_is_up_to_date() -> None:
    assert CERTIFICATE.read_text(encoding="utf-8") == certificate(), "run `python -m tests.fidelity.certificate`"


def test_the_readme_does_not_say_more_than_the_certificate() -> None:
    readme = FIDELITY.with_name("README.md").read_text(encoding="utf-8")
    said = re.search(r"more than ([\d,]+)\s+facts\s+of ([\d,]+)\s+situations", readme)
    assert said
    agreeing = sum(sum(comparison(name).agreeing.values()) for name in traces())
    assert 0.9 * agreeing < int(said[1].replace(",", "")) < agreeing
    assert int(said[2]) == len({trace.head.scenario for trace in traces().values()})
