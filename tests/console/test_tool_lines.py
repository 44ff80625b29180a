"""Lines of Kafka's tools at the console's prompt."""

import pytest

from cluster.commands import CommandError
from cluster.view import ClusterView, fold
from console.command_line import completions, read
from console.operating.tool_question import ToolOrder, ToolQuestion, order_preview, why_refused
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
    assert "would not be an increase" in shown(line.replace("90", "1"))
    assert shown("kafka-topics.sh --describe") == ""
    assert shown("kafka-topics.sh --alter --top") == ""
    order = read(line.replace("90", "1"), NAMES)
    assert isinstance(order, ToolOrder)
    assert "Error while executing topic command" in why_refused(view, order)
