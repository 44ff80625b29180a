"""An assignor of one's own: loaded beside its scenario, used as it is, and named when it breaks its contract."""

from pathlib import Path

import pytest

from cluster import events as e
from recordings.flight import fly, make_plan
from recordings.scenario import ScenarioErrors, load
from tests.small import DECLARED

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


def told(file: Path) -> list[e.Event]:
    events: list[e.Event] = []
    fly(make_plan(load(file)), log=events.append)
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
        ("{m: [] for m in s}", "orders-0 was given to nobody"),
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
        ("import no_such_module\n", "no_such_module was found neither beside the scenario"),
        ("class Mine(\n", "SyntaxError"),
        ("class Mine:\n    def __init__(self, x):\n        pass\n", "cannot be made: TypeError"),
        (LAST_TAKES_ALL + "    supported_protocols = ('LAZY',)\n", "not some of EAGER and COOPERATIVE"),
    ],
)
def test_what_cannot_be_loaded_is_an_error_of_the_scenario(tmp_path: Path, module: str, words: str) -> None:
    with pytest.raises(ScenarioErrors) as wrong:
        load(scenario(tmp_path, module))
    (error,) = wrong.value.errors
    assert words in error.reason
    assert error.line == 14
