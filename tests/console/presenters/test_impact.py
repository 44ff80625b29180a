"""The sentences on the impact of each command, and where the console and the command line show them."""

from pathlib import Path

import msgspec
import pytest

from cluster.commands import COMMANDS, parse
from cluster.commands import catalogue as c
from cluster.view import ClusterView
from console.cli.execution import main
from console.presenters import impact as impact_module
from console.presenters.impact import impact_line, impact_of, listed, preview, sentences
from console.presenters.styled_text import plain
from console.widgets.command_input import PromptLine
from tests.support.console import synthetic, synthetic_transactions
from tests.support.console.pilot import Seat, sit
from tests.support.console.stopped_clock import NAMES

# Broker 3 is down and fenced; brokers 1 (the controller) and 2 lead what is led and are all that is in sync, with
# min.insync.replicas 2; payments-4 has no leader; billing-2 is down.
SENTENCES: dict[str, tuple[str, ...]] = {
    "kill broker-1": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 12 partitions that it leads: new leader after 9.0 s, broker-2",
        "controller → broker-2",
        "1 group loses its coordinator: billing",
    ),
    "kill broker-2": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 7 partitions that it leads: new leader after 9.0 s, broker-1",
    ),
    "crash broker-1": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 12 partitions that it leads: new leader after 9.0 s, broker-2",
        "controller → broker-2",
        "1 group loses its coordinator: billing",
        "no connection breaks: members notice by timeouts, and may lose their sessions",
        "the broker loses the records that its disk had not flushed",
    ),
    "stop broker-1": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 12 partitions that it leads: new leader, broker-2",
        "controller → broker-2",
        "1 group loses its coordinator: billing",
    ),
    "stop broker-3": ("nothing: broker-3 is not running: start it first",),
    "restart broker-1": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 12 partitions that it leads: new leader, broker-2",
        "controller → broker-2",
        "1 group loses its coordinator: billing",
    ),
    "restart broker-3": (
        "payments-4: new leader, broker-3",
        "broker-3 is down: the command only starts it",
    ),
    "start broker-1": ("nothing: broker-1 is running already",),
    "pause broker-1": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 12 partitions that it leads: new leader after 9.0 s, broker-2",
        "controller → broker-2",
        "1 group loses its coordinator: billing",
        "no connection breaks: members notice by timeouts, and may lose their sessions",
    ),
    "pause broker-1 for 2s": (
        "controller → broker-2",
        "shorter than broker.session.timeout.ms: the 12 partitions that it leads serve no requests",
    ),
    "isolate broker-1": (
        "21 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 18 more",
        "9 partitions: new leader after 9.0 s, broker-1",
        "1 group loses its coordinator: audit",
        "no majority is left to replace the controller: broker-1 fences the others",
        "no connection breaks: members notice by timeouts, and may lose their sessions",
    ),
    "isolate broker-3 for 1s": ("broker-3 is down: the isolation applies when the broker returns",),
    "fill disk of broker-2": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 7 partitions that it leads: new leader after 9.0 s, broker-1",
        "the broker halts at the first append for which its disk has no room",
    ),
    "slow disk of broker-1 to 50ms": (
        "at most 20 appends a second for the 12 partitions that broker-1 leads",
        "acks=all waits for broker-1 in 9 more",
    ),
    "kill billing-1": (
        "billing-1 is removed after 44 s (session expired), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
    ),
    "kill billing-2": ("nothing: billing-2 is not running: start it first",),
    "stop billing-3": (
        "billing-3 leaves at once (member left), holding orders-4, orders-5, orders-6 and 3 more",
        "billing rebalances",
    ),
    "start billing-2": ("billing rebalances",),
    "restart billing-1": (
        "billing-1 leaves at once (member left), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
    ),
    "pause billing-1 for 5s": ("shorter than its session (45000 ms): billing-1 stays in its group",),
    "pause billing-1": (
        "billing-1 is removed after 44 s (session expired), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
    ),
    "resume billing-1": ("nothing: billing-1 is not paused",),
    "pause heartbeats of billing-1": (
        "billing-1 is removed after 44 s (session expired), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
        "a commit within the session keeps the member: it renews the session, too",
    ),
    "pause partitions orders-1,orders-2 of billing-1": (
        "poll() returns no records of 2 of 6 partitions of billing-1",
        "polls, heartbeats and commits continue: no rebalance; a rebalance that revokes a partition ends its pause",
    ),
    "pause partitions orders-4 of billing-1": (
        "nothing: IllegalStateException: No current assignment for partition orders-4",
    ),
    "pause partitions of billing-2": ("nothing: billing-2 is not running: start it first",),
    "resume partitions of billing-1": ("nothing: billing-1 has paused no partition",),
    "stall billing-1 for 1m": ("shorter than max.poll.interval.ms (300000): billing-1 stays",),
    "stall billing-1 for 6m": (
        "billing-1 leaves after 5:00 (poll interval exceeded), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
    ),
    "slow billing-1 to 50ms": ("at most 20 records a second from 6 partitions",),
    "slow dependency of billing to 50ms": (
        "at most 60 records a second from 3 members of billing",
        "a member whose poll() returns more than 6,000 records exceeds max.poll.interval.ms",
    ),
    "slow dependency of billing to 0ms": ("the dependency of billing adds no delay",),
    "fail dependency of billing for 30s": (
        "each record that 3 members of billing process fails: its lag grows",
        "a member waits its backoffs in poll(), then it crashes, skips the record or sends a dead letter",
    ),
    "restore dependency of billing": ("nothing: the dependency of billing is neither slow nor failing",),
    "scale billing to 1": (
        "billing-3 leaves at once (member left), holding orders-4, orders-5, orders-6 and 3 more",
        "billing-4 leaves at once (member left), holding orders-8, orders-9, orders-10 and 3 more",
        "billing rebalances",
    ),
    "scale billing to 6": (
        "billing rebalances",
        "3 more members of billing start",
    ),
    "scale billing to 0": (
        "billing-1 leaves at once (member left), holding orders-0, orders-1, orders-2 and 3 more",
        "billing-3 leaves at once (member left), holding orders-4, orders-5, orders-6 and 3 more",
        "billing-4 leaves at once (member left), holding orders-8, orders-9, orders-10 and 3 more",
        "billing has no member left",
    ),
    "rolling restart billing every 30s": (
        "billing rebalances",
        "3 members, one by one; up to 6 rebalances",
    ),
    "rollout deployment billing": (
        "billing rebalances",
        "3 members; at most 0 more are not ready and 1 more run at a time",
    ),
    "rollout statefulset billing max unavailable 50%": (
        "billing rebalances",
        "3 members; at most 1 more are not ready and 0 more run at a time",
    ),
    "rollout deployment billing max unavailable 0 max surge 0": (
        "nothing: max unavailable may not be 0 when max surge is 0",
    ),
    "rolling restart brokers": (
        "2 brokers, one by one, broker-1 last; leaderships move before each stops",
        "the next one does not wait for replicas to be in sync again: add `wait for isr`",
    ),
    "rolling restart brokers wait for isr": (
        "2 brokers, one by one, broker-1 last; leaderships move before each stops",
    ),
    "end rollout of billing": ("nothing: no rollout of billing is under way",),
    "end rollout of brokers": ("nothing: no rolling restart of the brokers is under way",),
    "subscribe billing-1 to payments": (
        "billing rebalances",
        "billing-1 revokes 4 of its partitions",
    ),
    "kill checkout-1": (
        "checkout-1 sends nothing to orders (100 records a second so far)",
        "checkout-1 loses 49,152 bytes that it has not sent",
    ),
    "pause checkout-1 for 2m": ("checkout-1 sends nothing to orders (100 records a second so far)",),
    "stop checkout-1": ("checkout-1 sends nothing to orders (100 records a second so far)",),
    "cut billing-1 broker-1": (
        "billing-1 is removed after 44 s (session expired), holding orders-0, orders-1, orders-2 and 3 more",
        "billing rebalances",
        "billing-1 reads nothing from the 4 partitions that broker-1 leads",
    ),
    "cut broker-1 -> billing-1": (
        "billing-1 receives no response from its coordinator",
        "billing-1 reads nothing from the 4 partitions that broker-1 leads",
    ),
    "cut broker-1 broker-3": ("broker-3 is already unavailable",),
    "cut broker-1 broker-2": (
        "17 partitions fall below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2 and 14 more",
        "all 7 partitions that it leads: new leader after 9.0 s, broker-1",
        "broker-2 runs but is fenced: the controller receives no heartbeat from it",
    ),
    "hold checkout-1 broker-1": ("checkout-1 cannot reach the leader of 8 of its partitions",),
    "slow broker-1 broker-3 to 200ms": ("each round trip on the link takes at least 400 ms",),
    "lose next 1 responses of JoinGroup from broker-1": (
        "the connection breaks: the coordinator counts the member as joined; without a response the member joins again",
    ),
    "elect preferred orders-1": ("nothing: ELECTION_NOT_NEEDED: orders-1 is led by broker-2",),
    "elect preferred __consumer_offsets-0": ("nothing: ELECTION_NOT_NEEDED: __consumer_offsets-0 is led by broker-3",),
    "elect unclean payments-4": ("nothing: ELIGIBLE_LEADERS_NOT_AVAILABLE: no replica of payments-4 is available",),
    "fail over controller": (
        "controller → broker-2",
        "the next controller starts new broker sessions",
    ),
    "move coordinator of billing": (
        "__consumer_offsets-1: new leader, broker-2",
        "1 group loses its coordinator: billing",
    ),
    "delete records orders-0 before 5": ("orders-0 loses 5 offsets",),
    "create topic returns partitions 6 replicas 3": ("returns begins empty: 6 partitions, 3 replicas",),
    "create topic returns": ("returns begins empty",),  # no scenario says how large
    "create topic orders": ("nothing: TOPIC_ALREADY_EXISTS: Topic 'orders' already exists.",),
    "create topic orders if not exists": ("nothing: orders exists already",),
    "add partitions orders to 20": (
        "audit, billing rebalance",
        "8 more partitions: existing keys map to other partitions",
    ),
    "add partitions orders to 2": ("nothing: INVALID_PARTITIONS: orders has 12 partitions already",),
    "seek billing orders-0 to 0": ("billing-1 reads 1,424 offsets again of orders-0",),
    "reset offsets of billing to earliest": (
        "nothing: Assignments can only be reset if the group 'billing' is inactive, but the current state is Stable.",
    ),
    "delete group billing": ("nothing: NON_EMPTY_GROUP: The group is not empty.",),
    "delete offsets of billing in orders-0": (
        "nothing: GROUP_SUBSCRIBED_TO_TOPIC: a member of billing subscribes to orders",
    ),
    "abort hanging transaction orders-0": ("nothing: no transaction is open in orders-0",),
    "nemesis on": ("random faults from its seed: a minority of the brokers at a time, and any client",),
    "nemesis off": ("nothing: the nemesis is not on",),
}
WITHOUT_IMPACT = {c.Heal, c.Release, c.Set, c.Mark}


@pytest.mark.parametrize("text", SENTENCES)
def test_the_sentences_of_a_command(text: str) -> None:
    found = impact_of(synthetic.view_at(90.0), parse(text), synthetic.us(90))
    assert tuple(words for _, words in sentences(found)) == SENTENCES[text]


def test_every_command_that_starts_a_fault_has_a_predictor() -> None:
    assert {form.command for form in COMMANDS} - set(impact_module.PREDICTORS) == WITHOUT_IMPACT


def test_the_impact_holds_the_facts_of_its_sentences() -> None:
    found = impact_of(synthetic.view_at(90.0), parse("kill broker-1"), synthetic.us(90))
    assert (found.controller, found.groups, found.after_us) == (2, ("billing",), 9_000_000)
    assert set(found.leaders.values()) == {2}
    assert found.led == tuple(found.leaders)
    assert len(found.unwritable) == 17
    assert found.offline == ()
    quick = impact_of(synthetic.view_at(90.0), parse("pause broker-1 for 8s"), synthetic.us(90), session_us=7_000_000)
    assert quick.after_us == 7_000_000
    assert quick.led


def test_partitions_without_another_in_sync_replica_lose_their_leader() -> None:
    view = synthetic.view_at(90.0)
    for name in ("orders-0", "orders-2"):
        view.partitions[name].isr = (1,)
    found = impact_of(view, parse("kill broker-1"), synthetic.us(90))
    assert found.offline == ("orders-0", "orders-2")
    tone, words = sentences(found)[0]
    assert (
        words == "2 partitions have no other in-sync replica → no leader until the broker returns: orders-0, orders-2"
    )
    assert tone == "error"
    assert not {"orders-0", "orders-2"} & set(found.unwritable)
    crashed = [words for _, words in sentences(impact_of(view, parse("crash broker-1"), synthetic.us(90)))]
    assert "2 partitions have no other in-sync replica: records lost there are lost for good" in crashed


@pytest.mark.parametrize(
    ("text", "ids", "words"),
    [
        ("kill pay-1", ("pay-1",), "the transaction of pay-1 stays open"),
        ("abandon transaction of pay-2", ("pay-2",), "the last stable offset of orders-0, orders-1 stays until its"),
        ("pause pay-1 for 90s", ("pay-1",), "the coordinator aborts the transaction and fences the producer"),
        ("pause pay-1 for 1s", ("pay-1",), "the transaction of pay-1 stays open"),
        ("abort hanging transaction orders-0", (), "the oldest transaction in orders-0 aborts; 10 offsets wait"),
        (
            "abort hanging transaction orders-0",
            (),
            "it is not hanging: pay-2 is Ongoing, and its coordinator will end it",
        ),
        ("pause pay-2", (), "nothing: pay-2 is paused already"),
    ],
)
def test_transactions_that_are_open(text: str, ids: tuple[str, ...], words: str) -> None:
    found = impact_of(synthetic_transactions.view_at(5.0), parse(text), 5_000_000)
    assert found.open_transactions == ids
    assert words in " | ".join(words for _, words in sentences(found))


def test_static_members_are_missed_only_when_their_session_ends() -> None:
    view = synthetic.view_at(90.0)
    view.members["billing-1"].instance_id = "billing-1"
    for text in ("stop billing-1 for 10s", "kill billing-1 for 10s", "restart billing-1"):
        found = impact_of(view, parse(text), synthetic.us(90))
        assert (found.members, found.rebalances) == ({}, ())
        assert "within its session: no rebalance" in found.notes[0]
    assert impact_of(view, parse("stop billing-1"), synthetic.us(90)).members["billing-1"].reason == "session expired"
    stalled = impact_of(view, parse("stall billing-1"), synthetic.us(90)).members["billing-1"]
    assert (stalled.reason, stalled.after_us) == ("session expired", 345_000_000)


def test_a_preview_is_there_while_a_whole_command_is_typed_and_nothing_before() -> None:
    view, now_us = synthetic.view_at(90.0), synthetic.us(90)
    for typed in ("", "kil", "kill", "kill broker-9", "pause", "speed 5", "heal", 'mark "x"'):
        assert preview(view, NAMES, now_us, typed) == ()
    assert plain(preview(view, NAMES, now_us, "kill broker-1")).startswith("would hit: 17 partitions fall below min.")
    building = impact_line(impact_of(ClusterView(), parse("kill broker-1"), 0))
    assert plain(building) == "would hit: nothing: the cluster is still being built"
    assert listed(["a", "b", "c", "d"]) == "a, b, c, d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_the_line_says_what_it_would_hit_and_complaints_come_first() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("stop billing-3")
        command_line = seat.app.screen.query_one(PromptLine)
        assert "would hit: billing-3 leaves at once (member left)" in command_line.feedback.plain_text()
        await seat.type("3")
        await seat.press("enter")
        assert "would hit" not in command_line.feedback.plain_text()
        assert "▲" in command_line.feedback.plain_text()
        await seat.press("backspace")
        assert "would hit" in command_line.feedback.plain_text()
        assert seat.asked == []
        await seat.press("enter")
        assert seat.asked == ["stop billing-3"]

    sit(script)


# --- the command line -------------------------------------------------------------------------------------------------


SCENARIO = """
title = "Two members"
until = "60s"
seed = 3
[[topic]]
name = "orders"
partitions = 4
config = { "min.insync.replicas" = 2 }
[[producer]]
name = "shop"
topics = ["orders"]
[[group]]
name = "billing"
topics = ["orders"]
members = 2
[[at]]
time = "20s"
do = "kill broker-3"
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return str(path)


def run_impact(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(["blast", *words])
    said = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, said.out, said.err


def test_the_command_says_it_of_an_instant(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_impact(capsys, scenario, "kill broker 2", "--at", "40s")
    assert code == 0
    assert out.splitlines()[0] == "two at 00:00:40.000: kill broker-2 would hit"
    assert "below min.insync.replicas → no acks=all: orders-0, orders-1, orders-2" in out
    _, before, _ = run_impact(capsys, scenario, "kill broker-2", "--at", "10s")
    assert "below min.insync.replicas" not in before


def test_the_command_says_it_as_data(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_impact(capsys, scenario, "stop billing-1", "--at", "40s", "--json")
    report = msgspec.json.decode(out)
    assert code == 0
    assert (report["command"], report["at_ms"], report["offline"]) == ("stop billing-1", 40_000, [])
    assert report["members"]["billing-1"]["reason"] == "member left"
    assert report["rebalances"] == ["billing"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("kill broker-9",), "no broker, member or producer is named broker-9 (did you mean broker-1?)"),
        (("kil broker-1",), "did you mean kill?"),
        (("kill broker-1", "--at", "2m"), "--at: the flight ends at 00:01:00"),
        (("kill broker-1", "--at", "soon"), "--at: "),
        (("kill broker-1", "--set", "membres=3"), "membres"),
    ],
)
def test_what_cannot_be_is_refused(
    scenario: str, words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_impact(capsys, scenario, *words)
    assert (code, out) == (2, "")
    assert complaint in err
