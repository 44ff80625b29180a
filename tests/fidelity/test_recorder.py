"""The recorder without a cluster: a scenario as orders, a log as facts, passes as races."""

import base64
import zlib
from pathlib import Path

import pytest
import trio

from cluster.simulation import Simulation
from cluster.spec import ScenarioSpec
from recordings.scenarios.loader import load
from tests.fidelity.normalisation import Fact, log_text
from tests.fidelity.recorder.__main__ import races
from tests.fidelity.recorder.agenda import CannotRecord, actions, alone, clients, protocols, sources, with_settings
from tests.fidelity.recorder.raw import Run, facts_of, read_run, write_run
from tests.fidelity.recorder.segments import batches_of
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


def test_a_member_of_the_new_protocol_has_no_assignor_of_its_own() -> None:
    words = clients(scenario("s90-consumer-regex"))["g90-1"][1]
    assert "cfg.group.protocol=consumer" in words
    assert {"regex=s90.*", "revoke_ms=1"} < set(words)
    assert not any("partition.assignment.strategy" in word for word in words)


def test_a_group_s_next_processes_speak_another_protocol() -> None:
    spec = scenario("s98-consumer-migration-static")
    assert protocols(spec) == {"classic", "consumer"}
    there, back = [action.words for action in actions(spec) if action.verb == "set"]
    words = clients(spec)["g98-1"][1]
    assert any(word.startswith("cfg.partition.assignment.strategy=") for word in words)
    new = with_settings(words, there)
    assert "cfg.group.protocol=consumer" in new
    assert not any("partition.assignment.strategy" in word for word in new), "the new protocol forbids it"
    assert set(with_settings(new, back)) == {*words, "cfg.group.protocol=classic"}


def test_a_description_has_what_each_member_has_and_shall_have() -> None:
    member = {"client": "g-1", "instance": "", "epoch": 3, "has": ["t-1", "t-0"], "target": ["t-0"]}
    event = {"at_ms": 1_700_000_001_000, "kind": "description", "who": "g", "type": "Consumer", "state": "Reconciling"}
    event |= {"epoch": 4, "assignment_epoch": 4, "assignor": "uniform", "members": [member]}
    (fact,) = facts_of(Run(1_700_000_000_000, 1_700_000_060_000, {}, [], [event]))
    said = "g-1 epoch 3 has [t-0, t-1] target [t-0]"
    assert fact.text == f"Reconciling, group epoch 4, assignment epoch 4, uniform; {said}"


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


def test_a_producer_gets_the_keys_that_flightdeck_draws() -> None:
    spec = scenario("s70-compaction")
    simulation = Simulation(spec, spec.seed)

    async def main() -> None:
        async with simulation.running():
            await simulation.timeline.fly(4_500_000)

    trio.run(main, clock=simulation.timeline)
    log = simulation.log_of(1, "s70-0")
    assert log is not None
    (batch,) = log.batches
    flown = [f"{key}{'!' if place in batch.tombstones else ''}" for place, key in enumerate(batch.keys)]
    assert f"keys={','.join(flown)}" in clients(spec)["p70a-1"][1]
    assert any(key.endswith("!") for key in flown)


def test_keys_are_for_producers_that_end(tmp_path: Path) -> None:
    text = (SCENARIOS / "s70-compaction.toml").read_text(encoding="utf-8").replace("limit = 12\n", "")
    path = tmp_path / "endless.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CannotRecord, match="p70a-1: keys are given to a producer with a limit"):
        clients(load(str(path)).spec)


SEGMENT = (
    "eNpjYAADViB2ATGYru1Q1WUogIgyLuII+2EMoWOvMEAFGRj/AwGIpcKw9yULAweIycOAAriB2Als3vkrDR8ZDBDmxf1A0FDzmGDmKQAJbKaJAbEh"
    "2LTJzk0NENP+QwHEtNJlUKVMcNfBgCLca/eXtCpg81rzG6hSZmSv9V5kxuoYJSBeCDbvne25LgYHIIsTYs6dnRB6ajxUKQtcE+MdRobNc5lYmMxO"
    "MBaYG6boGiobMdABmAGdqQ127BKvOxZIjg1n/gtx7J6m/ygAqIIN6NijC5gYmAzAjk0DOtaApq4E2vd6PjBwTOD2GdHBPh4mQ7h9ZjS1z4Lh4HwmPiYj"
    "RiaBzJTUvJLMkkohqMXmQMm785gEmIyxSFqAXPp1LpMQkyncpZb0SDYO8Oyr1CBeiZx9D59B0NCSgxE9+zLAcgwAiyuIow=="
)
"""A segment file of s71's topic on a real broker, compressed."""


def test_a_segment_file_has_its_batches_and_what_compaction_left_of_them(tmp_path: Path) -> None:
    data = zlib.decompress(base64.b64decode(SEGMENT))
    (tmp_path / "00000000000000000000.log").write_bytes(data + bytes(100))
    assert log_text(batches_of(tmp_path)) == (
        "5 COMMIT until; 11 COMMIT; 22 [] marker; 33 COMMIT until; 34-43 [36] until;"
        " 54-63 [54 56 60 61 62 63] until; 64 ABORT"
    )


def test_the_records_of_a_group_are_those_that_it_has_finished_until_then() -> None:
    events = [
        {"at_ms": 1_700_000_002_000, "kind": "finished", "who": "g-1", "group": "g", "read": {"p-1": [3, 1, 1]}},
        {"at_ms": 1_700_000_003_000, "kind": "records", "who": "g"},
        {"at_ms": 1_700_000_004_000, "kind": "finished", "who": "g-1", "group": "g", "read": {"p-1": [4]}},
    ]
    run = Run(1_700_000_000_000, 1_700_000_060_000, {}, [], events)
    assert [fact.text for fact in facts_of(run)] == ["p-1: 1 3"]


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
