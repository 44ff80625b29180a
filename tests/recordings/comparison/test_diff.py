"""Two recordings compared: equal ones, ones of other length, the divergence that matters, and both bills."""

import itertools
import shutil
from pathlib import Path

import pytest

from cluster.commands import parse
from recordings.comparison import course as course_module
from recordings.comparison.amounts import spoken
from recordings.comparison.bill import MEASURES
from recordings.comparison.diff import diff
from recordings.comparison.meter import BillMeter
from recordings.comparison.pairing import NotComparableError
from recordings.comparison.verdict import MOST_WORDS, WEIGHED, Cost, balance, verdict
from recordings.flights.runner import Replay, fly, make_plan
from recordings.journal.reader import Recording
from recordings.scenarios.loader import Scenario, parse_scenario


def flown(scenario: Scenario, path: Path, *commands: tuple[int, str], **plan: object) -> Path:
    given = tuple((at_us, parse(text)) for at_us, text in commands)
    fly(make_plan(scenario, **plan), record=path, replay=Replay(by_time=given))  # type: ignore[arg-type]
    return path


def test_a_flight_and_itself_are_equal(tiny: Scenario, tmp_path: Path) -> None:
    a, b = flown(tiny, tmp_path / "a.flight"), flown(tiny, tmp_path / "b.flight")
    for other in (a, b):
        found = diff(a, other)
        assert found.equal
        assert not found.bills.differing
        assert found.logs.divergence is None is found.first_difference


def test_the_shorter_flight_ends_the_comparison(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    b = flown(tiny, tmp_path / "b.flight", until_us=13_000_000)
    assert (diff(a, b).equal, diff(a, b).until_us) == (True, 13_000_000)
    (b / "footer.json").unlink()
    killed = diff(b, a)
    assert killed.equal
    assert killed.until_us == Recording(b).survey().totals.virtual_us
    assert any("has no end" in warning for warning in killed.a.course.warnings)


def test_a_flight_that_is_read_up_to_damage_ends_there(tiny: Scenario, tmp_path: Path) -> None:
    """Its last events are lost; its footer still has the length and the hash of the whole flight."""
    a = flown(tiny, tmp_path / "a.flight")
    b = flown(tiny, tmp_path / "b.flight", until_us=13_000_000)
    shutil.copy(a / "footer.json", b / "footer.json")
    found = diff(a, b, salvage=True)
    last_us = Recording(b, salvage=True).survey().totals.virtual_us
    assert (found.until_us, found.equal, found.compared_events) == (last_us, True, True)
    assert found.a.course.events == found.b.course.events
    assert not found.bills.differing


def test_the_divergence_is_what_the_setting_does(tiny: Scenario, tmp_path: Path) -> None:
    """The members declare another session timeout at 0 s; it matters when one of them is dead."""
    a = flown(tiny, tmp_path / "a.flight")
    b = flown(tiny, tmp_path / "b.flight", settings=[("billing", "session.timeout.ms", "7500")])
    found = diff(a, b)
    assert (found.equal, found.settings_a) == (False, [])
    assert found.settings_b == ["billing:session.timeout.ms=7500"]
    parting = found.logs.divergence
    assert parting is not None
    assert [entry.text for entry in parting.before][-1] == "kill billing-2"
    assert parting.a[0].text == parting.b[0].text == "billing-2 left billing: session expired"
    assert parting.b[0].at_us - parting.a[0].at_us == 1_500_000
    (unread,) = [row for row in found.bills.differing if row.field == "unread_partition_us"]
    assert not unread.b_is_better
    assert abs((unread.b - unread.a) / 2 - 1_500_000) <= 1_000_000  # two partitions; a heartbeat tells the survivor


def test_a_setting_that_does_nothing_is_no_divergence(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight", until_us=11_000_000)
    b = flown(tiny, tmp_path / "b.flight", until_us=11_000_000, settings=[("billing", "session.timeout.ms", "9000")])
    found = diff(a, b)
    assert not found.equal
    assert found.logs.divergence is None is found.first_difference
    assert found.verdict in {"Both flights cost the same.", "Neither flight costs anything."}


def test_a_command_and_what_it_does_to_its_target_are_no_divergence(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    b = flown(tiny, tmp_path / "b.flight", (9_000_000, "kill billing-1"))
    found = diff(a, b)
    assert [entry.text for entry in found.logs.given_b] == ["kill billing-1"]
    parting = found.logs.divergence
    assert parting is not None
    assert parting.at_us > 9_000_000
    assert parting.b[0].text == "billing-1 left billing: session expired"


def test_a_group_that_is_still_behind_at_the_end_is_no_better(tiny: Scenario, tmp_path: Path) -> None:
    """Its time lag is largest at the end: there a time from the peak on would be zero."""
    freeze = [(3_000_000, "pause billing-1"), (3_000_000, "pause billing-2")]
    thaw = [(15_000_000, "resume billing-1"), (15_000_000, "resume billing-2")]
    a = flown(tiny, tmp_path / "a.flight", *freeze, *thaw, until_us=30_000_000)
    b = flown(tiny, tmp_path / "b.flight", *freeze, until_us=30_000_000)
    found = diff(a, b)
    meter = BillMeter()
    for event in Recording(b).events():
        meter(event)
    assert meter.bill(30_000_000).groups["billing"].peak_at_us == 30_000_000
    (behind,) = [row for row in found.bills.differing if row.field == "behind_us"]
    assert 0 < behind.a < behind.b <= 24_000_000
    assert not behind.b_is_better


SECOND_GROUP = """
[[group]]
name = "second"
topics = ["orders"]
[[producer]]
name = "web"
topics = ["orders"]
rate = "1/s"
"""


def renamed(scenario: Scenario) -> str:
    """The text of the small scenario, with a group of another name."""
    text = scenario.text.replace('"billing"', '"audit"').replace("billing-2", "audit-2")
    return text.replace("groups.billing", "groups.audit")


def test_flights_with_nothing_in_common_are_refused(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    text = renamed(tiny).replace('"checkout"', '"shop"') + SECOND_GROUP
    b = flown(parse_scenario(text, "other.toml"), tmp_path / "b.flight")
    with pytest.raises(NotComparableError, match="no group or producer of billing, checkout-1 has a counterpart in"):
        diff(a, b)


def test_a_verdict_on_flights_with_groups_of_their_own_is_about_what_both_have(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    found = diff(a, flown(parse_scenario(renamed(tiny) + SECOND_GROUP, "other.toml"), tmp_path / "b.flight"))
    assert not [row for row in found.bills.differing if row.scope == "group"]
    assert [name for _, name in found.bills.only_a] == ["billing"]
    assert found.verdict.startswith("What both flights have costs ")


def test_the_only_group_is_compared_with_the_only_group(tiny: Scenario, tmp_path: Path) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    found = diff(a, flown(parse_scenario(renamed(tiny), "other.toml"), tmp_path / "b.flight"))
    assert {(row.name, row.name_b) for row in found.bills.differing if row.scope == "group"} <= {("billing", "audit")}
    assert not found.bills.only_a + found.bills.only_b


def test_large_recordings_are_read_in_processes_of_their_own(
    tiny: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = flown(tiny, tmp_path / "a.flight")
    b = flown(tiny, tmp_path / "b.flight", settings=[("billing", "session.timeout.ms", "7500")])
    here = diff(a, b)
    monkeypatch.setattr(course_module, "ALONE_BELOW_BYTES", 0)
    there = diff(a, b)
    assert there.report() == here.report()


# --- sentences --------------------------------------------------------------------------------------------------------

AMOUNTS = (0, 1, 2, 12_345)


@pytest.mark.parametrize("value", AMOUNTS)
def test_amounts_agree_with_their_nouns(value: int) -> None:
    for measure in MEASURES:
        unit = 1_000_000 if measure.field.endswith("_us") else 1
        number, _, noun = spoken(measure, value * unit).partition(" ")
        words = noun.split(" below ")[0].split(" of ")[0].removesuffix(" behind").split(" ")
        head = words[0] if words[-1] == "unread" else words[-1]
        assert head.endswith("s") == (number != "1"), spoken(measure, value * unit)


def test_a_verdict_has_at_most_twenty_words() -> None:
    for chosen in itertools.combinations(WEIGHED, 3):
        found = [Cost(measure, 5_000_000_000, 0) for measure in chosen]
        sentence = verdict("deploy-static", "deploy-dynamic", found)
        assert len(sentence.split()) <= MOST_WORDS, sentence
        assert sentence.startswith("deploy-static costs ")
        assert "; deploy-dynamic costs 0" in sentence
        assert sentence.endswith(".")


def test_a_verdict_names_the_weightiest_measures_and_nothing_that_is_the_same() -> None:
    amounts = {
        "unread_partition_us": (2_800_000_000, 52_000_000),
        "rebalances": (0, 43),
        "retries": (1, 9),
        "late": (4, 4),
    }
    found = [Cost(measure, *amounts.get(measure.field, (0, 0))) for measure in WEIGHED]
    sentence = "A costs 2,800 unread partition-seconds, 0 rebalances and 1 retried batch; B costs 52.0, 43 and 9."
    assert verdict("A", "B", found) == sentence
    assert balance(found, "B") == "B is better in 1 measure, and worse in 2."
    assert verdict("A", "B", [Cost(WEIGHED[0], 2, 2)]) == "Both flights cost the same."
    assert verdict("A", "B", [Cost(WEIGHED[2], 1_000_000_000, 1_000_000_100)]) == "Both flights cost nearly the same."
    assert verdict("A", "B", [Cost(WEIGHED[0], 0, 0)]) == "Neither flight costs anything."
    assert not balance([Cost(WEIGHED[0], 2, 2)], "B")
    nothing = verdict("A", "B", [Cost(WEIGHED[0], 0, 0)], partly=True)
    assert nothing == "What both flights have costs nothing in either."
    same = verdict("A", "B", [Cost(WEIGHED[0], 2, 2)], partly=True)
    assert same == "What both flights have costs the same."
