"""Lines of Kafka's tools at the console's prompt."""

import copy
from types import SimpleNamespace
from typing import cast

import pytest

from cluster.commands import CommandError, text_of
from cluster.view import ClusterView, fold
from cluster.view.state import NEVER
from console.command_line import completions, read
from console.flight import Flight
from console.operating.tool_question import ToolOrder, ToolQuestion, answer, due_commands, order_preview, why_refused
from console.presenters.styled_text import plain
from recordings.scenarios.loader import load
from tests.support.kafka_tools_recorded import flown

SPEC = load("unclean-election").spec
NAMES = SPEC.names()
TOPIC = next(iter(NAMES.topics))
SESSION_US = 9_000_000


@pytest.fixture(scope="module")
def view() -> ClusterView:
    folded = ClusterView()
    for event in flown(SPEC):
        fold(folded, event)
    return folded


def test_looks_are_questions_and_changes_are_commands() -> None:
    assert isinstance(read("describe groups --members", NAMES), ToolQuestion)
    assert isinstance(read("kafka-topics.sh --describe", NAMES), ToolQuestion)
    order = read(f"bin/kafka-topics.sh --alter --topic {TOPIC} --partitions 90", NAMES)
    assert isinstance(order, ToolOrder)
    assert len(order.commands) == 1
    assert "hanging" in completions("describe h", NAMES)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("describe gruops", "there is no subject `gruops`", 9),
        ("describe groups --membres", "kafka-consumer-groups.sh has no option --membres", 16),
        ("kafka-topics.sh --alter --topic nowhere --partitions 9", "Topic 'nowhere' does not exist as expected", 24),
        ("describe", "an argument is missing", 9),
    ],
)
def test_an_error_stands_at_its_word(text: str, message: str, column: int) -> None:
    with pytest.raises(CommandError) as error:
        read(text, NAMES)
    assert error.value.message.startswith(message)
    assert error.value.column == column


def test_what_a_line_would_hit_is_shown_first(view: ClusterView) -> None:
    def shown(text: str) -> str:
        return plain(order_preview(view, view.at_us, text, NAMES, SESSION_US))

    line = f"kafka-topics.sh --alter --topic {TOPIC} --partitions 90"
    assert shown(line).startswith(f"add partitions {TOPIC} to 90 would hit: ")
    assert "Topic already has 1 partition(s)." in shown(line.replace("90", "1"))
    assert shown("kafka-topics.sh --describe") == ""
    assert shown("kafka-topics.sh --alter --top") == ""
    order = read(line.replace("90", "1"), NAMES)
    assert isinstance(order, ToolOrder)
    assert "Error while executing topic command" in why_refused(view, order)


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("describe producers --topic {0} --partition 0", "producers"),
        ("kafka-get-offsets.sh --topic {0} --time 0", "offsets"),
        ("kafka-transactions.sh find-hanging --topic {0}", "hanging"),
        ("kafka-dump-log.sh --print-data-log --files /data/{0}-0/0.log", "records"),
    ],
)
def test_what_asks_for_a_log_names_the_command_that_reads_it(view: ClusterView, text: str, subject: str) -> None:
    question = read(text.format(TOPIC), NAMES)
    assert isinstance(question, ToolQuestion)
    flight = cast(Flight, SimpleNamespace(view=view, now_us=4_916_000))
    with pytest.raises(CommandError, match=f"`flightdeck describe {subject} RECORDING --at 4916ms` reads them"):
        answer(flight, question)


def test_an_election_of_all_partitions_is_one_of_those_that_need_it(view: ClusterView) -> None:
    moved = copy.deepcopy(view)
    for one in moved.partitions.values():
        one.leader = one.replicas[0]
    order = read("kafka-leader-election.sh --election-type preferred --all-topic-partitions", NAMES)
    assert isinstance(order, ToolOrder)
    assert due_commands(moved, order) == ()
    for name in (f"{TOPIC}-0", "__consumer_offsets-7"):
        moved.partitions[name].leader = moved.partitions[name].replicas[-1]
    assert [text_of(one) for one in due_commands(moved, order)] == [
        f"elect preferred {TOPIC}-0",
        "elect preferred __consumer_offsets-7",
    ]
    unclean = read("kafka-leader-election.sh --election-type unclean --all-topic-partitions", NAMES)
    assert isinstance(unclean, ToolOrder)
    assert due_commands(moved, unclean) == ()
    moved.partitions[f"{TOPIC}-0"].leader = NEVER
    assert [text_of(one) for one in due_commands(moved, unclean)] == [f"elect unclean {TOPIC}-0"]
    one_of_them = read(f"kafka-leader-election.sh --election-type preferred --topic {TOPIC} --partition 0", NAMES)
    assert isinstance(one_of_them, ToolOrder)
    assert due_commands(view, one_of_them) == one_of_them.commands


RESET = "kafka-consumer-groups.sh --reset-offsets --topic {} --to-earliest --execute --group {}"


def test_an_unknown_group_is_not_reset_in_silence(view: ClusterView) -> None:
    question = read(RESET.format(TOPIC, "nobody"), NAMES)
    assert isinstance(question, ToolQuestion)
    flight = cast(Flight, SimpleNamespace(view=view, names=lambda: NAMES))
    with pytest.raises(CommandError, match="no group is named nobody"):
        answer(flight, question)


def test_a_reset_is_an_order_with_its_offsets_shown_first(view: ClusterView) -> None:
    idle = copy.deepcopy(view)
    group = next(iter(idle.groups.values()))
    text = RESET.format(f"{TOPIC}:0", group.group)
    refused = plain(order_preview(idle, idle.at_us, text, NAMES, SESSION_US))
    assert refused.endswith("but the current state is Stable."), "and not the header of the table that has no row"
    group.state = "Empty"
    group.readers[f"{TOPIC}-0"].committed = 5
    assert plain(order_preview(idle, idle.at_us, text, NAMES, SESSION_US)) == (
        f"reset offsets of {group.group} to earliest in {TOPIC}-0 would hit: {TOPIC}-0 5 → 0: 5 offsets are read again"
    )
