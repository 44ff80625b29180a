"""`flightdeck check`: sound clusters pass, broken ones are caught, and a failure is made small and flies alone."""

import re
from itertools import count
from pathlib import Path

import msgspec
import pytest

from cluster.broker.replica import Replica
from cluster.commands import RANDOM_FAULTS, Crash, SlowMember, text_of
from cluster.protocol.record_batch import RecordBatch
from cluster.spec import GroupSpec
from console.cli.execution import main
from recordings.flights.runner import fly, make_plan
from recordings.scenarios.loader import load, parse_scenario
from recordings.swarm import check as checking
from recordings.swarm.check import check
from recordings.swarm.convergence import AUDIT
from recordings.swarm.core import CORE
from recordings.swarm.faults import RESTARTED_MS
from recordings.swarm.generator import FEATURES, HEALED_FOR_US, HEALING_US, SHORTEST_US, draw
from recordings.swarm.parts import commands_of
from recordings.swarm.rare_features import RARE
from tests.mutants import MUTANTS, SURVIVORS
from tests.mutants import __main__ as table
from tests.mutants.searching import BEGINNINGS, CAUGHT_IN, seeds_to_detect
from tests.support.slow_cases import mostly_slow, partly_campaign

MINUTE_US = 60_000_000
ONCE = f'delivery.by_group["{AUDIT}"].duplicated == 0'
QUICK = ("acknowledges_before_the_high_watermark", "forgets_the_last_stable_offset", "elects_without_a_new_epoch")


@pytest.mark.parametrize("seeds", mostly_slow((3, 6), quick=[3]))
def test_sound_clusters_break_nothing_and_become_whole(seeds: int) -> None:
    checked = check(seeds, MINUTE_US, first_seed=0)
    assert checked.held, checked.failures
    assert (checked.seeds, checked.flown_twice) == (seeds, 1)
    assert checked.events > 1_000 * seeds
    assert checked.seeds_per_hour > 0


@pytest.mark.parametrize(("seeds", "first"), [(2, 9), pytest.param(5, 8, marks=pytest.mark.slow)])
def test_it_does_not_matter_how_many_processes_fly(seeds: int, first: int) -> None:
    alone, together = (check(seeds, MINUTE_US, first_seed=first, jobs=jobs) for jobs in (1, 2))
    assert alone.reach == together.reach
    assert sum(alone.reach.values()) > 0
    found = [(each.seeds, each.events, each.flown_twice, each.unreached, each.failures) for each in (alone, together)]
    assert found[0] == found[1]


def test_a_fleet_that_never_takes_a_branch_has_not_held_and_a_few_seeds_have() -> None:
    missed = ("join: the group is full",)
    assert checking.Checked(seeds=9_999, unreached=missed).held
    assert not checking.Checked(seeds=10_000, unreached=missed).held
    assert checking.Checked(seeds=10_000).held


def test_a_seed_draws_some_features_and_faults_and_every_one_is_drawn_by_some_seed() -> None:
    drawn = [draw(seed, MINUTE_US) for seed in range(60)]
    assert {name for each in drawn for name in each.features} == {*FEATURES, *RARE, CORE}
    assert {name for each in drawn for name in each.faults} == set(RANDOM_FAULTS)
    assert all(len(each.features) < len(FEATURES) for each in drawn)
    assert draw(7, MINUTE_US) == draw(7, MINUTE_US)
    assert "transactions" in draw(7, MINUTE_US, ("transactions",)).features


def test_nothing_is_injured_after_the_healing_has_begun() -> None:
    for seed in range(30):
        swarm = draw(seed, MINUTE_US)
        if swarm.core is not None:
            continue  # test_core_healing.py has which faults may begin there
        writers = {f"kill {name}" for group in swarm.spec.groups if writes(group) for name in group.instances()}
        healing = [step.text for step in swarm.spec.steps if step.at_us >= swarm.healed_us]
        healing = [
            text for text in healing if not re.fullmatch(r"rolling restart g\d every 1ms|end rollout of \S+", text)
        ]
        words = {text.partition(" ")[0] for text in healing if text not in writers}
        assert words <= {"heal", "resume", "slow", "start", "restart", "scale", "subscribe", "stop", "restore"}


def test_every_session_that_a_crash_brings_back_is_over_before_the_end() -> None:
    """A host takes a group's last generation, and the one before it lists a member that is no more (seed 61274)."""
    audited = [draw(seed, MINUTE_US, ("exactly_once", "crash")).spec for seed in range(20)]
    assert any(AUDIT in [group.name for group in spec.groups] for spec in audited)
    for spec in [*(draw(seed, MINUTE_US).spec for seed in range(60)), *audited]:
        for group in spec.groups:
            if group.speaks_new_protocol:
                assert RESTARTED_MS + int(str(spec.config["group.consumer.session.timeout.ms"])) < HEALING_US // 1_000
            elif commands_of(spec, Crash) or group.name != AUDIT:
                assert RESTARTED_MS * 1_000 + session_us(group) < HEALING_US, group.name


def test_every_request_that_a_crash_takes_is_given_up_soon_after_the_healing() -> None:
    """Seed 5907: a host crashed with the auditor's FindCoordinator, which it waited for until the flight was over."""
    drawn = [draw(seed, MINUTE_US, ("exactly_once", "crash")).spec for seed in range(20)]
    groups = [group for spec in drawn if commands_of(spec, Crash) for group in spec.groups]
    assert AUDIT in [group.name for group in groups]
    for group in groups:
        waits_ms = int(str(group.consumer_config(group.instances()[0])["request.timeout.ms"]))
        assert waits_ms * 1_000 <= HEALED_FOR_US, group.name


def test_an_application_whose_producer_is_stuck_is_killed_and_started_again() -> None:
    """Seed 6648: its first batch was out of order until delivery.timeout.ms, which outlasts the flight."""
    drawn = [draw(seed, MINUTE_US, ("writes",)) for seed in range(40)]
    writers = [(each, group) for each in drawn if each.core is None for group in each.spec.groups if writes(group)]
    assert len(writers) >= 10
    for swarm, group in writers:
        after = [text_of(step.command) for step in swarm.spec.steps if step.at_us > swarm.healed_us]
        for name in group.instances():
            assert after.index(f"kill {name}") < after.index(f"start {name}", after.index(f"kill {name}")), (
                swarm.spec.title
            )


def writes(group: GroupSpec) -> bool:
    return bool(group.application.topics_written) and group.application.commit != "transaction"


def test_who_counts_second_copies_has_a_session_that_outlasts_the_trouble() -> None:
    """Seeds 912, 3919 and 6713: isolated for 15 s, its session of 10 s was over: the auditor read again."""
    drawn = [draw(seed, MINUTE_US, ("exactly_once",)) for seed in range(100)]
    asked = [each for each in drawn if ONCE in [said.that for said in each.spec.expectations]]
    assert len(asked) >= 3
    for swarm in asked:
        audit = next(group for group in swarm.spec.groups if group.name == AUDIT)
        assert session_us(audit) > swarm.healed_us


def session_us(group: GroupSpec) -> int:
    return int(str(group.consumer_config(group.instances()[0])["session.timeout.ms"])) * 1_000


@pytest.mark.parametrize(("arguments", "code"), [(["--help"], 0), (["--mutant", "no such"], 2)])
def test_the_table_of_mutants_searches_for_nothing_when_it_is_asked_for_help(
    arguments: list[str], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(table, "row", searched.append)
    with pytest.raises(SystemExit) as ended:
        table.main(arguments)
    assert (ended.value.code, searched) == (code, [])
    assert "usage: python -m tests.mutants" in "".join(capsys.readouterr())


@pytest.mark.parametrize("name", QUICK)
def test_a_broken_cluster_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS[name]
    mutant.breaks(monkeypatch)
    checked = check(CAUGHT_IN, MINUTE_US, features=mutant.needs, most_failures=1, shrinking_flights=0)
    assert not checked.held


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seeds", partly_campaign((100, 200), 1))
def test_many_random_clusters_break_nothing_and_become_whole(seeds: int, capsys: pytest.CaptureFixture[str]) -> None:
    checked = check(seeds, MINUTE_US, first_seed=1)
    with capsys.disabled():
        print(f"\n{checked.seeds} seeds, {checked.flown_twice} twice; {checked.seeds_per_hour:,} an hour of one core")  # noqa: T201 - the figure that was asked for
    assert checked.held, checked.failures
    assert (checked.seeds, checked.flown_twice) == (seeds, seeds // 10)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", partly_campaign([name for name in MUTANTS if name not in SURVIVORS], 20))
def test_every_mutant_is_caught_and_the_sound_cluster_passes_there(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One search, which takes some seconds; `python -m tests.mutants` prints the table of three."""
    seeds, failure = seeds_to_detect(MUTANTS[name], BEGINNINGS[0])
    with capsys.disabled():
        print(f"\n{name:<55} {seeds:>4} seeds {failure.invariant if failure is not None else 'not caught'}")  # noqa: T201 - the table that was asked for
    assert failure is not None, f"{name} was not caught in {CAUGHT_IN} seeds"


def test_there_are_enough_mutants() -> None:
    assert len(MUTANTS) >= 60
    assert set(SURVIVORS) <= set(MUTANTS)
    assert all(SURVIVORS.values())
    assert all(set(mutant.needs) <= {*FEATURES, *RARE, *RANDOM_FAULTS} for mutant in MUTANTS.values())


@pytest.mark.slow  # test_the_command_prints_the_failure… makes a smaller one small
def test_a_failure_is_made_small_and_its_file_shows_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No follower is let back in: one fault that throws a follower out is enough, and the others go."""
    monkeypatch.setattr(Replica, "admit_followers", lambda *_: None)
    [failure] = check(10, MINUTE_US, most_failures=1).failures
    assert (failure.invariant, failure.name) == ("V1", "ConvergesAfterHeal")
    assert failure.steps == 1 < failure.steps_drawn
    assert "under_replicated" in failure.found
    scenario = parse_scenario(failure.scenario, failure.file)
    assert not fly(make_plan(scenario)).held
    monkeypatch.undo()
    assert fly(make_plan(scenario)).held


def test_a_seed_that_is_another_flight_the_second_time_is_noticed_and_its_first_other_event_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batches are counted over both flights: the 100th appended in the second is another one than in the first."""
    numbers = count()
    append = Replica.append

    def whimsical(replica: Replica, batch: RecordBatch, now_us: int) -> RecordBatch:
        number = next(numbers)
        if not number % 100:
            batch = msgspec.structs.replace(batch, bytes=batch.bytes + 1)
        return append(replica, batch, now_us)

    monkeypatch.setattr(Replica, "append", whimsical)
    [failure] = check(1, MINUTE_US, first_seed=0, shrinking_flights=0).failures
    assert (failure.invariant, failure.name) == ("D1", "SameSeedSameFlight")
    named = re.fullmatch(
        r"event (\d+) at (\d+\.\d{6}) s differs; first flight: (\{.*\}); second flight: (\{.*\})", failure.found
    )
    assert named is not None
    first, second = msgspec.json.decode(named[3]), msgspec.json.decode(named[4])
    assert first["kind"] == second["kind"] == "records_appended"
    assert abs(first["bytes"] - second["bytes"]) == 1
    assert first | {"bytes": 0} == second | {"bytes": 0}
    assert (first["seq"], first["at_us"]) == (int(named[1]), round(float(named[2]) * 1_000_000))
    assert failure.at_s == first["at_us"] / 1_000_000


def test_control_c_in_the_second_flight_of_a_seed_ends_the_check_and_is_no_other_flight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flights = count(1)
    append = Replica.append

    def interrupted(replica: Replica, batch: RecordBatch, now_us: int) -> RecordBatch:
        if replica.log.log_end > 20:
            raise KeyboardInterrupt
        return append(replica, batch, now_us)

    def flown(*arguments: object, **others: object) -> object:
        if next(flights) == 2:
            monkeypatch.setattr(Replica, "append", interrupted)
        return fly(*arguments, **others)  # type: ignore[arg-type]

    monkeypatch.setattr("recordings.swarm.seeds.fly", flown)
    checked = check(3, MINUTE_US, first_seed=0)
    assert checked.interrupted
    assert (checked.seeds, checked.flown_twice, checked.failures) == (0, 0, [])


def test_a_bug_of_the_simulation_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Replica, "follower_fetched", fails)
    [failure] = check(5, MINUTE_US, most_failures=1, shrinking_flights=0).failures
    assert (failure.invariant, failure.found) == ("B1", "ValueError: broken")


def test_the_command_prints_the_failure_writes_its_file_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    MUTANTS["acknowledges_before_the_high_watermark"].breaks(monkeypatch)
    monkeypatch.setattr(checking, "MOST_FAILURES", 1)
    with pytest.raises(SystemExit) as left:
        main(["check", "--seeds", "1", "--from", "1"])
    said = capsys.readouterr().out
    assert left.value.code == 1
    assert "✖ seed 1: A1 AckedIsCommitted" in said
    assert "fly it again: flightdeck run check-1.toml" in said
    assert load(tmp_path / "check-1.toml").spec.until_us < SHORTEST_US
    with pytest.raises(SystemExit) as left:
        main(["run", "check-1.toml"])
    assert left.value.code == 1
    assert "✖ A1 AckedIsCommitted" in capsys.readouterr().out


def test_the_command_ends_with_0_when_all_held(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["check", "--seeds", "2", "--virtual", "50s", "--json"])
    report = msgspec.json.decode(capsys.readouterr().out)
    assert left.value.code == 0
    assert (report["seeds"], report["virtual_s"], report["failures"]) == (2, 50.0, [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--virtual", "10s"], "leaves no time"),
        (["--seeds", "0"], "--seeds: at least 1"),
        (["--from", "-1"], "a seed is at least 0"),
        (["--virtual", "soon"], "--virtual"),
    ],
)
def test_options_that_cannot_be_are_refused(options: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["check", *options])
    assert left.value.code == 2
    assert words in capsys.readouterr().err


def test_a_member_that_starts_while_it_heals_is_no_longer_slow() -> None:
    """Seed 18317: g0-2 did not run when it was to work as fast as before, and no poll was done in time to the end."""
    slowed = [draw(seed, MINUTE_US, ("slow member",)) for seed in range(20)]
    assert any(swarm.core is None for swarm in slowed)
    assert any(swarm.core is not None for swarm in slowed)
    for swarm in slowed:
        healing = [step for step in swarm.spec.steps if step.at_us >= swarm.healed_us]
        usual = {name: g.application.per_record_us for g in swarm.spec.groups for name in g.instances()}
        begun = {
            step.text[6:]: step.at_us for step in healing if step.text[6:] in usual and step.text.startswith("start ")
        }
        quickened = {
            step.command.member: (step.at_us, step.command.to_us)
            for step in healing
            if isinstance(step.command, SlowMember) and step.command.member in usual
        }
        assert {*quickened} == {*begun}
        assert all(at_us > begun[name] and to_us == usual[name] for name, (at_us, to_us) in quickened.items())
