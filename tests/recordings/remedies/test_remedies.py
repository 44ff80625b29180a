"""Remedies: what each setting costs is what `run --set` costs, the best is first, and a worse one is called worse."""

import json
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from cluster.spec import SettingError
from recordings.comparison.bill import Bill
from recordings.comparison.meter import BillMeter
from recordings.flights.runner import Setting, fly, make_plan
from recordings.remedies import cache
from recordings.remedies.cache import REMEDIES, cached, keep
from recordings.remedies.candidates import candidates
from recordings.remedies.measure import Remedies, _costliest, cases_of, costs_of, measure
from recordings.remedies.search import find_remedies
from recordings.remedies.what_if_flight import RebalanceCost, RecordedFlight, WhatIfPilot, read_flight
from recordings.scenarios.loader import load, parse_scenario, parse_setting
from tests.support.minimal_scenario import DECLARED

KILLED = f"""
title = "A member dies"
until = "75s"
{DECLARED}config = {{ "auto.offset.reset" = "earliest" }}
[[at]]
time = "20s"
do = "kill billing-2"
"""


class Lesson(NamedTuple):
    """A lesson, its group, the rebalance that is asked about, and the remedies by their effect."""

    name: str
    group: str
    cause: str
    better: tuple[str, ...]
    worse: tuple[str, ...]


LESSONS = (
    Lesson(
        "rolling-restart-dynamic",
        "billing",
        "member left",
        ("heartbeat.interval.ms = 1000",),
        ("assignors = cooperative-sticky", "static = true", "static = true, session.timeout.ms = 90000"),
    ),
    Lesson(
        "session-expired",
        "billing",
        "session expired",
        ("session.timeout.ms = 10000",),
        ("session.timeout.ms = 90000",),
    ),
    Lesson("poll-too-slow", "billing", "poll interval exceeded", ("max.poll.records = 50",), ()),
    Lesson(
        "stuck-last-stable-offset",
        "ledger",
        "member joined",
        ("gateway: transaction.timeout.ms = 10000",),
        (),
    ),
)


def bill_of(lesson: str, settings: list[Setting]) -> Bill:
    meter = BillMeter()
    flown = fly(make_plan(load(lesson), settings=settings, invariants=False), meter=meter)
    return meter.bill(flown.virtual_us)


@pytest.fixture
def killed(tmp_path: Path) -> RecordedFlight:
    path = tmp_path / "killed.flight"
    fly(make_plan(parse_scenario(KILLED, "killed.toml")), record=path)
    return read_flight(path)


def remedies_of(flight: RecordedFlight, *wanted: str) -> Remedies:
    (case,) = cases_of(flight, wanted)
    found = measure(flight, case)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_remedy_costs_what_run_with_its_settings_costs(lesson: Lesson, tmp_path: Path) -> None:
    path = tmp_path / "a.flight"
    fly(make_plan(load(lesson.name)), record=path)
    found = remedies_of(read_flight(path), lesson.group)
    assert found.rebalance is not None
    assert found.rebalance.cause == lesson.cause
    by_text = {remedy.text: remedy for remedy in found.remedies}
    original = bill_of(lesson.name, [])
    for remedy in found.remedies:
        direct = bill_of(lesson.name, [parse_setting(text) for text in remedy.settings])
        worth = [cost for cost in costs_of(original, direct, lesson.group) if cost.is_worth_a_word]
        assert remedy.costs == {cost.measure.field: (cost.a, cost.b) for cost in worth}, remedy.text
    assert {by_text[text].effect for text in lesson.better} == {"better"}
    assert {by_text[text].effect for text in lesson.worse} <= {"worse"}
    assert found.sentence == f"{found.remedies[0].text} helps most."


def test_the_shorter_session_is_said_with_both_numbers(killed: RecordedFlight) -> None:
    found = remedies_of(killed, "billing")
    best, worst = found.remedies[0], found.remedies[-1]
    assert best.text == "session.timeout.ms = 10000"
    before, after = best.costs["unread_partition_us"]
    assert best.words.startswith(f"{after / 1e6:.1f} instead of {before / 1e6:.1f} unread partition-seconds")
    assert "it begins 35 s earlier" in best.words
    meter = BillMeter()
    scenario = parse_scenario(KILLED, "killed.toml")
    fly(make_plan(scenario, settings=[parse_setting(text) for text in best.settings]), meter=meter)
    assert after == meter.bill(75_000_000).groups["billing"].unread_partition_us
    assert (worst.text, worst.effect) == ("session.timeout.ms = 90000", "worse")
    assert "this rebalance does not happen in this flight" in worst.words  # it ends before


def test_a_rebalance_is_named_by_group_generation_or_not_at_all(killed: RecordedFlight) -> None:
    (by_group,), (first,), (default,) = (cases_of(killed, wanted) for wanted in (["billing"], ["1"], []))
    assert by_group == default
    assert (default.rebalance and default.rebalance.cause) == "session expired"
    assert first.rebalance is not None
    assert first.rebalance.initial
    with pytest.raises(SettingError, match="no group and no rebalance of this name"):
        cases_of(killed, ["9"])


def test_remedies_are_kept_beside_the_recording_for_its_journal_and_version(
    killed: RecordedFlight, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = find_remedies(killed.path, ["1"], jobs=1)
    assert (first.warnings, first.interrupted) == ([], False)
    flights = 0

    def count(_pilot: WhatIfPilot, _settings: object) -> None:
        nonlocal flights
        flights += 1

    with monkeypatch.context() as patch:
        patch.setattr(WhatIfPilot, "__call__", count)
        assert find_remedies(killed.path, ["1"], jobs=1) == first
        assert flights == 0
        (case,) = cases_of(killed, ["1"])
        assert cached(msgspec.structs.replace(killed, journal_sha256="another"), case) is None
        patch.setattr(cache, "VERSION", "0.0.1")
        assert cached(killed, case) is None
    for damage in (b"", b"{}", b'{"found": 3}'):
        (killed.path / REMEDIES).write_bytes(damage)
        assert cached(killed, case) is None


def test_remedies_that_cannot_be_kept_say_so(killed: RecordedFlight, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Remedies(group="billing", rebalance=None, remedies=[], sentence="")
    cut_off = msgspec.structs.replace(killed, journal_sha256="")
    assert keep(cut_off, found) == f"remedies are not kept: {killed.path} ended early"

    def refuse(_path: Path, _value: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache, "write_json", refuse)
    assert keep(killed, found) == f"remedies are not kept in {killed.path}: Permission denied"
    assert not (killed.path / REMEDIES).exists()


def test_a_recording_with_remedies_is_still_a_recording(killed: RecordedFlight) -> None:
    assert keep(killed, Remedies(group="billing", rebalance=None, remedies=[], sentence="")) is None
    assert json.loads((killed.path / REMEDIES).read_bytes())["journal_sha256"] == killed.journal_sha256
    assert read_flight(killed.path).warnings == []


def test_the_operators_commands_are_given_again(tmp_path: Path) -> None:
    """What only an operator did is part of the flight that a remedy changes."""
    path = tmp_path / "a.flight"
    text = KILLED.replace("[[at]]", "").replace('time = "20s"', "").replace('do = "kill billing-2"', "")
    scenario = parse_scenario(text, "quiet.toml")
    fly(make_plan(scenario), record=path)
    quiet = read_flight(path)
    pilot = WhatIfPilot(quiet.pilot._header, 75_000_000, [(20_000_000, "kill billing-2")])
    flown = pilot(())
    assert [one.cause for one in flown.rebalances["billing"]] == ["member joined", "session expired"]
    assert [one.cause for one in quiet.original.rebalances["billing"]] == ["member joined"]


def test_a_group_of_the_new_protocol_is_asked_about_the_coordinators_settings() -> None:
    text = KILLED.replace('"auto.offset.reset"', '"group.protocol" = "consumer", "auto.offset.reset"')
    spec = parse_scenario(text, "new.toml").spec
    group = next(each for each in spec.groups if each.name == "billing")
    found = [each.text("billing") for each in candidates(spec, group, "session expired", initial=False)]
    assert "group.consumer.min.session.timeout.ms = 10000, group.consumer.session.timeout.ms = 10000" in found
    assert "group.consumer.min.heartbeat.interval.ms = 1000, group.consumer.heartbeat.interval.ms = 1000" in found
    assert not [words for words in found if words.startswith(("session", "heartbeat", "assignors"))]
    assert candidates(spec, group, "member joined", initial=True) == []


def test_the_costliest_timeout_is_asked_about_first() -> None:
    def one(generation: int, cause: str, unread_us: int, *, initial: bool = False) -> RebalanceCost:
        return RebalanceCost(
            generation=generation,
            cause=cause,
            trigger="g-1",
            started_us=generation,
            took_us=1,
            unread_partition_us=unread_us,
            initial=initial,
        )

    all_ = [one(1, "member joined", 90, initial=True), one(2, "member left", 80), one(3, "session expired", 20)]
    assert _costliest(all_) == all_[2]
    assert _costliest(all_[:2]) == all_[1]
    assert _costliest(all_[:1]) == all_[0]
    assert _costliest([]) is None
