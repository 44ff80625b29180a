"""`flightdeck raster`: text, files, two flights, and what it refuses."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.console.command_processes import Flightdeck
from tests.support.repository import ROOT

SAMPLE = ROOT / "recordings/samples/first-flight.flight"


def test_it_prints_the_raster_of_a_recording(flightdeck: Flightdeck) -> None:
    code, out, err = flightdeck("raster", SAMPLE, "--group", "billing", "--last", "1m")
    assert (code, err) == (0, "")
    assert out.startswith("first-flight · seed 7 · billing · ownership over time")
    assert "orders-11" in out
    assert "E billing-5" in out


def test_the_only_group_needs_no_name(flightdeck: Flightdeck, small: str) -> None:
    assert flightdeck("raster", small, "--until", "5s").code == 0


def test_it_writes_a_new_file_and_no_other(flightdeck: Flightdeck, tmp_path: Path) -> None:
    out = tmp_path / "incident.svg"
    assert flightdeck("raster", SAMPLE, "--group", "billing", "--out", out).code == 0
    before = out.read_text()
    assert ET.fromstring(before).tag.endswith("svg")
    again = flightdeck("raster", SAMPLE, "--group", "billing", "--out", out)
    assert again.code == 2
    assert "already exists" in again.err
    assert out.read_text() == before


def test_a_recording_and_its_scenario_are_on_one_axis(flightdeck: Flightdeck) -> None:
    code, out, _ = flightdeck("raster", SAMPLE, "first-flight", "--group", "billing", "--until", "30s")
    assert code == 0
    assert "first-flight: billing: 12 partitions" in out
    assert f"{SAMPLE}: billing: 12 partitions" in out
    assert "no difference: the same number of partitions is unowned at every instant" in out


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((SAMPLE,), "--group: name one of the groups: billing, audit"),
        ((SAMPLE, "--group", "x"), "--group x: the flight has no such group; its groups are: billing, audit"),
        ((SAMPLE, "--group", "billing", "--seed", "1"), "is a recording: --seed and --set are for scenarios"),
        ((SAMPLE, "--group", "billing", "--out", "x.png"), "the name ends with .svg or .txt"),
        ((SAMPLE, "--group", "billing", "--out", "gone/x.svg"), "gone/x.svg cannot be written: No such file"),
        (("nothing-like-it", "--group", "billing"), "nothing-like-it: no scenario has this name"),
        ((ROOT / "docs", "--group", "billing"), "is not a recording"),
    ],
)
def test_what_it_refuses(flightdeck: Flightdeck, words: tuple[str, ...], reason: str) -> None:
    code, _, err = flightdeck("raster", *words)
    assert code == 2
    assert reason in err
