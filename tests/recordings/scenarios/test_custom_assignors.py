"""An assignor of one's own: loaded with leave only, used as it is, and named when it breaks its contract."""

from pathlib import Path

import pytest

from cluster import events as e
from cluster.commands import parse
from recordings.flights.rerun import rerun
from recordings.flights.runner import Plan, Replay, fly, make_plan
from recordings.scenarios.custom_code import Leave
from recordings.scenarios.loader import ScenarioErrors, load
from tests.support.minimal_scenario import DECLARED

SCENARIO = f"""title = "An assignor of one's own"
until = "20s"
{DECLARED}stagger = "1s"
assignors = ["mine.Mine"]
"""

LAST_TAKES_ALL = """
class Mine:
    name = "last-takes-all"
    def assign(self, partitions_per_topic, subscriptions):
        everything = [(topic, number) for topic, count in partitions_per_topic.items() for number in range(count)]
        last = max(subscriptions)
        return {member: everything if member == last else [] for member in subscriptions}
"""


def scenario(folder: Path, module: str) -> Path:
    (folder / "mine.py").write_text(module)
    file = folder / "own.toml"
    file.write_text(SCENARIO)
    return file


def planned(file: Path, *said: list[str]) -> Plan:
    """Planned with leave; what is run is written to the list."""
    return make_plan(load(file), leave=Leave(said[0].append if said else len))


def told(file: Path) -> list[e.Event]:
    events: list[e.Event] = []
    fly(planned(file), log=events.append)
    return events


def test_its_assignment_is_used_and_its_name_voted_for(tmp_path: Path) -> None:
    stable = [fact for fact in told(scenario(tmp_path, LAST_TAKES_ALL)) if isinstance(fact, e.GroupStabilized)]
    assert {member_id[:9]: len(owned) for member_id, owned in stable[-1].assignment.items()} == {
        "billing-1": 0,
        "billing-2": 4,
    }
    completed = [fact for fact in told(tmp_path / "own.toml") if isinstance(fact, e.JoinBarrierCompleted)]
    assert completed[-1].protocol == "last-takes-all"


def test_it_is_read_anew_with_its_scenario(tmp_path: Path) -> None:
    told(scenario(tmp_path, LAST_TAKES_ALL))
    first = LAST_TAKES_ALL.replace("max(subscriptions)", "min(subscriptions)")
    stable = [fact for fact in told(scenario(tmp_path, first)) if isinstance(fact, e.GroupStabilized)]
    assert [len(owned) for owned in stable[-1].assignment.values()] == [4, 0]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("1 / 0", "assignor mine raised ZeroDivisionError: division by zero"),
        ("None", "it answered NoneType, not a mapping of member ids to partitions"),
        ("{'nobody': []}", "'nobody' is not a member of the group"),
        ("{m: [('orders', n) for n in (0, 0, 1, 2, 3)] for m in s}", "orders-0 was given to billing-1-"),
        ("{m: [('payments', 0)] for m in s}", "which does not subscribe to payments"),
        ("{m: [('orders', 4)] for m in s}", "does not exist"),
        ("{m: ['orders-0'] for m in s}", "gets 'orders-0', which is not a TopicPartition"),
        ("{m: 7 for m in s}", "gets int, not a list of partitions"),
        ("{m: [] for m in s}", "orders-0 was not assigned"),
    ],
)
def test_breaking_its_contract_ends_one_leader_after_another_and_the_event_says_why(
    tmp_path: Path, answer: str, words: str
) -> None:
    module = f"class Mine:\n    name = 'mine'\n    def assign(self, p, s):\n        return {answer}\n"
    events = told(scenario(tmp_path, module))
    failed = [fact for fact in events if isinstance(fact, e.ApplicationFailed)]
    assert [fact.member for fact in failed] == ["billing-1", "billing-2"]
    assert all(words in fact.reason for fact in failed[:1])
    crashed = [fact for fact in events if isinstance(fact, e.MemberStopped)]
    assert [(fact.member, fact.how) for fact in crashed] == [("billing-1", "crash"), ("billing-2", "crash")]
    assert not [fact for fact in events if isinstance(fact, e.GroupStabilized)]
    removed = [(fact.member, fact.reason) for fact in events if isinstance(fact, e.MemberRemoved)]
    assert removed == [("billing-1", "member left"), ("billing-2", "member left")]


def test_a_cooperative_one_must_not_move_what_is_still_owned(tmp_path: Path) -> None:
    module = LAST_TAKES_ALL.replace("    def assign", "    supported_protocols = ('COOPERATIVE',)\n    def assign")
    file = scenario(tmp_path, module)
    file.write_text(SCENARIO.replace('"1s"', '"8s"'))
    failed = [fact for fact in told(file) if isinstance(fact, e.ApplicationFailed)]
    assert "while billing-1-" in failed[0].reason
    assert "still owns it (COOPERATIVE)" in failed[0].reason


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("class Yours:\n    pass\n", "module mine has no class Mine"),
        ("class Mine:\n    name = 'mine'\n", "it has no method `assign(partitions_per_topic, subscriptions)`"),
        ("class Mine:\n    def assign(self, p, s):\n        return {}\n", "it has no `name`"),
        ("import no_such_module\n", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("class Mine(\n", "SyntaxError"),
        ("class Mine:\n    def __init__(self, x):\n        pass\n", "cannot be made: TypeError"),
        (LAST_TAKES_ALL + "    supported_protocols = ('LAZY',)\n", "not some of EAGER and COOPERATIVE"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_of_the_scenario(tmp_path: Path, module: str, words: str) -> None:
    with pytest.raises(ScenarioErrors) as wrong:
        planned(scenario(tmp_path, module))
    (error,) = wrong.value.errors
    assert words in error.reason
    assert (error.file, error.line) == (str(tmp_path / "own.toml"), 14)


def test_what_runs_is_told_by_file_and_class(tmp_path: Path) -> None:
    said: list[str] = []
    planned(scenario(tmp_path, LAST_TAKES_ALL), said)
    assert said == [f"running code of the scenario: {tmp_path / 'mine.py'}, class Mine"]


def test_without_leave_it_is_refused_by_name_and_nothing_runs(tmp_path: Path) -> None:
    file = scenario(tmp_path, f"__import__('pathlib').Path({str(tmp_path / 'trace')!r}).touch()\n{LAST_TAKES_ALL}")
    with pytest.raises(ScenarioErrors, match=r"own.toml:14: assignors: mine.Mine .* only with --allow-code"):
        make_plan(load(file))
    assert not (tmp_path / "trace").exists()
    planned(file)
    assert (tmp_path / "trace").exists()


def test_a_module_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = scenario(tmp_path, "")
    (tmp_path / "mine.py").unlink()
    with pytest.raises(ScenarioErrors, match=r"neither beside the scenario .* nor on Python's path"):
        planned(file)


def test_a_package_on_pythons_path_is_found_and_its_parents_are_not_imported_before_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, package = tmp_path / "here", tmp_path / "path" / "team_assignors"
    folder.mkdir()
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(f"__import__('pathlib').Path({str(tmp_path / 'trace')!r}).touch()\n")
    (package / "mine.py").write_text(LAST_TAKES_ALL)
    file = scenario(folder, "")
    file.write_text(SCENARIO.replace("mine.Mine", "team_assignors.mine.Mine"))
    monkeypatch.syspath_prepend(package.parent)
    traces: list[bool] = []
    make_plan(load(file), leave=Leave(lambda _: traces.append((tmp_path / "trace").exists())))
    assert traces == [False]
    assert (tmp_path / "trace").exists()


def test_a_name_in_a_command_of_the_scenario_is_code_too(tmp_path: Path) -> None:
    file = scenario(tmp_path, LAST_TAKES_ALL)
    step = '[[at]]\ntime = "5s"\ndo = "set billing assignors mine.Mine"\n'
    file.write_text(SCENARIO.replace('assignors = ["mine.Mine"]', "") + step)
    with pytest.raises(ScenarioErrors, match=r"own.toml:17: assignors: mine.Mine"):
        make_plan(load(file))
    changed = [fact for fact in told(file) if isinstance(fact, e.SettingChanged)]
    assert [fact.value for fact in changed] == ["mine.Mine"]


def test_a_name_that_nobody_loaded_is_refused_in_flight(tmp_path: Path) -> None:
    file = scenario(tmp_path, LAST_TAKES_ALL)
    events: list[e.Event] = []
    plan = planned(file)
    when = Replay(by_time=((5_000_000, parse("set billing assignors never.Loaded", plan.spec.names())),))
    fly(plan, log=events.append, replay=when)
    refused = [fact.reason for fact in events if isinstance(fact, e.CommandRefused)]
    assert refused == ["never.Loaded is not loaded: code is loaded before a flight, if its scenario names it"]


@pytest.mark.parametrize("place", ["beside it", "inside it"])
def test_a_recorded_scenarios_code_is_never_looked_for_where_the_recording_is(tmp_path: Path, place: str) -> None:
    home, path = tmp_path / "home", tmp_path / "away" / "a.flight"
    home.mkdir()
    path.parent.mkdir()
    fly(planned(scenario(home, LAST_TAKES_ALL)), record=path)
    planted = (path if place == "inside it" else path.parent) / "mine.py"
    planted.write_text(f"__import__('pathlib').Path({str(tmp_path / 'trace')!r}).touch()\n{LAST_TAKES_ALL}")
    with pytest.raises(ScenarioErrors, match="which runs only with --allow-code DIR"):
        rerun(path)
    with pytest.raises(ScenarioErrors, match="which runs only with --allow-code DIR"):
        rerun(path, leave=Leave(len))
    said: list[str] = []
    assert rerun(path, leave=Leave(said.append, home)).matches
    assert said == [f"running code of a recorded scenario: {home / 'mine.py'}, class Mine"]
    with pytest.raises(ScenarioErrors, match=r"mine.Mine was not found below"):
        rerun(path, leave=Leave(len, tmp_path))
    if place == "inside it":
        with pytest.raises(ScenarioErrors, match="would be code of the recording itself"):
            rerun(path, leave=Leave(len, path))
    assert not (tmp_path / "trace").exists()


def test_what_the_library_ships_needs_no_leave(tmp_path: Path) -> None:
    result = fly(make_plan(load("your-own-assignor"), until_us=2_000_000), record=tmp_path / "a.flight")
    assert rerun(tmp_path / "a.flight").flight.journal_sha256 == result.journal_sha256
