"""The recorder without a cluster: a scenario as orders, a log as facts, passes as races."""

from pathlib import Path

import pytest

from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from tests.fidelity.normalisation import Fact
from tests.fidelity.recorder.__main__ import races
from tests.fidelity.recorder.agenda import CannotRecord, actions, alone, clients, sources
from tests.fidelity.recorder.raw import Run, facts_of, read_run, write_run
from tests.fidelity.traces import SCENARIOS

COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"


def scenario(name: str) -> ScenarioSpec:
    return load(str(SCENARIOS / f"{name}.toml")).spec


def ran(*lines: str) -> Run:
    return Run(1_700_000_000_000, 1_700_000_060_000, {}, list(lines), [])


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_scenario_is_one_for_a_real_cluster(path: Path) -> None:
    spec = load(str(path)).spec
    starts = [action.target for action in actions(spec) if action.verb == "start"]
    assert set(clients(spec)) <= set(starts)


def test_a_member_is_started_with_its_settings_and_its_stagger() -> None:
    at_us, words = clients(scenario("s34-cooperative-topics"))["g34-2"]
    assert at_us == 200_000
    assert words[:4] == ("member", "g34-2", "group=g34", "topics=s34a")
    assert "cfg.session.timeout.ms=6000" in words
    assert "cfg.enable.auto.commit=true" in words
    assert "cfg.partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor" in words


def test_what_is_killed_or_frozen_is_alone_and_what_lasts_is_undone() -> None:
    assert alone(scenario("s17-kill-at-barrier")) == {"g17-3"}
    frozen = [str(each) for each in actions(scenario("s23-cooperative-faults")) if each.target == "g23-2"]
    assert frozen == ["start g23-2", "pause g23-2", "resume g23-2"]


def test_a_lost_response_is_an_order_to_the_brokers_proxy() -> None:
    lost = [each for each in actions(scenario("s49-pending-expires")) if each.verb == "lose"]
    assert [(each.target, each.words) for each in lost] == [
        ("broker-1", ("1", "JoinGroup", "g49-3")),
        ("broker-1", ("1", "JoinGroup", "g49gone-2")),
    ]


def test_records_reach_a_group_through_one_that_writes() -> None:
    assert sources(scenario("s41-exactly-once")) == {"g41": ["feed41-1"], "g41out": ["feed41-1"]}


def test_what_cannot_be_done_to_a_real_cluster_is_refused(tmp_path: Path) -> None:
    text = (SCENARIOS / "s01-first-join.toml").read_text(encoding="utf-8")
    path = tmp_path / "cut.toml"
    path.write_text(f'{text}\n[[at]]\ntime = "5s"\ndo = "cut g01-1 broker-1"\n', encoding="utf-8")
    with pytest.raises(CannotRecord, match="not done to a real cluster"):
        actions(load(str(path)).spec)


def test_a_stack_trace_is_no_part_of_its_line_and_a_list_below_it_is() -> None:
    run = ran(
        f"1700000001000 WARN {COORDINATOR} [g-1] [Consumer clientId=g-1, groupId=g] Failed",
        "java.lang.IllegalStateException: no",
        "\tat java.base/java.lang.Thread.run(Thread.java:840)",
        f"1700000002000 INFO {COORDINATOR} [g-1] [Consumer clientId=g-1, groupId=g] Updating assignment with",
        "\tAssigned partitions:  [t-1, t-0]",
    )
    assert [fact.text for fact in facts_of(run)] == [
        "Failed",
        "Updating assignment with\n\tAssigned partitions:  [t-0, t-1]",
    ]


def test_a_line_without_context_is_its_threads() -> None:
    line = (
        f"1700000001000 INFO {COORDINATOR.replace('ConsumerCoordinator', 'ConsumerUtils')} [g-1] Setting offset for it"
    )
    assert [fact.actor for fact in facts_of(ran(line))] == ["g-1"]


def test_lines_before_and_after_the_run_are_not_of_it() -> None:
    words = f"INFO {COORDINATOR} [g-1] [Consumer clientId=g-1, groupId=g] (Re-)joining group"
    assert [
        fact.at_ms
        for fact in facts_of(ran(f"1699999999000 {words}", f"1700000005000 {words}", f"1700000099000 {words}"))
    ] == [5_000]


def test_acknowledged_records_that_no_group_read_and_those_read_twice_are_outcomes() -> None:
    events = [
        {"at_ms": 1_700_000_001_000, "kind": "acked", "who": "p-1", "serials": [0, 1, 2]},
        {"at_ms": 1_700_000_002_000, "kind": "finished", "who": "g-1", "group": "g", "read": {"p-1": [0, 1, 1]}},
        {"at_ms": 1_700_000_002_000, "kind": "finished", "who": "h-1", "group": "h", "read": {"p-1": [0, 1, 2]}},
    ]
    run = Run(1_700_000_000_000, 1_700_000_060_000, {"g": ["p-1"], "h": ["p-1"]}, [], events)
    assert [(fact.actor, fact.text.rpartition(" ")[2]) for fact in facts_of(run)] == [
        *(("app g", "some"), ("app g", "some")),
        *(("app h", "none"), ("app h", "none")),
    ]


def test_a_run_that_was_kept_is_the_same(tmp_path: Path) -> None:
    run = Run(1.0, 2.0, {"g": ["p-1"]}, ["a line", "\tbelow it"], [{"at_ms": 1, "kind": "closed", "who": "g-1"}])
    write_run(tmp_path / "kept.log.zst", run)
    assert read_run(tmp_path / "kept.log.zst") == run


def test_what_is_not_the_same_in_each_pass_is_a_race() -> None:
    first = [Fact(1, "a", "INFO", "L", "one"), Fact(2, "a", "INFO", "L", "two"), Fact(3, "a", "INFO", "L", "three")]
    late = [first[0], first[1], first[2]._replace(at_ms=5_000)]
    without = [first[0], first[2]]
    assert races([first, first]) == []
    assert races([first, first, late]) == ["a INFO L: three"]
    assert races([first, without, late]) == ["a INFO L: three", "a INFO L: two"]
