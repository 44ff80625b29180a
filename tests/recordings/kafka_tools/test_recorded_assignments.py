"""A flight like the recorded session of `--replica-assignment`: each line is taken or refused as Kafka's tool did."""

import re
from functools import cache

import pytest

from cluster.commands import CommandError
from cluster.view import ClusterView
from recordings.kafka_tools.look import look, only_looks
from recordings.kafka_tools.pasted import commands_of
from recordings.kafka_tools.refusals import refusal_of
from recordings.kafka_tools.tool_lines import read_tool_line
from tests.support.kafka_tools_recorded import LOOKS, like_the_recorded, looked_at, view_at

RECORDED = [name for name in LOOKS if name.startswith("assign")]
CREATED_S, ADDED_S, END_S = 2, 6, 10
SPEC = like_the_recorded(
    END_S,
    f"""
[[topic]]
name = "another"
[[at]]
time = "{CREATED_S}s"
do = "{LOOKS["assign"]["command"]}"
[[at]]
time = "{ADDED_S}s"
do = "{LOOKS["assign-more-old-unknown"]["command"]}"
""",
)
ERROR = "Error while executing topic command : "
DEFAULTS = {"assign-nothing-described"}
"""Its one partition is on a random broker there, and the topic is not created here."""


@cache
def view_before(at_s: float) -> ClusterView:
    return view_at(SPEC, at_s - 0.1)


def instant_of(name: str) -> float:
    """Before which instant of the flight a look is taken, in seconds."""
    number = RECORDED.index(name)
    if number <= RECORDED.index("assign"):
        return CREATED_S
    return ADDED_S if number <= RECORDED.index("assign-more-old-unknown") else END_S


def said(name: str) -> str:
    """What Flightdeck prints, or refuses, at a look; nothing if it does what the line says."""
    view = view_before(instant_of(name))
    try:
        line = read_tool_line(LOOKS[name]["command"])
        if only_looks(line):
            return look(looked_at(SPEC, view), line).streams.strip("\n")
        commands_of(LOOKS[name]["command"])
        refused = refusal_of(view, line)
        return "" if refused is None else refused.streams.strip("\n").removeprefix(ERROR)
    except CommandError as error:
        return error.message


def recorded(name: str) -> str:
    """What was printed, without what no flight has: ids of topics, ELR, and that a topic was created."""
    text = LOOKS[name]["printed"].strip("\n").removeprefix(ERROR)
    text = re.sub(r"\tTopicId: \S+|^Created topic .*", "", text)
    return text.replace("Elr: \tLastKnownElr: ", "Elr: N/A\tLastKnownElr: N/A")


def test_the_session_was_recorded() -> None:
    assert len(RECORDED) >= 33


@pytest.mark.parametrize("name", sorted(set(RECORDED) - DEFAULTS))
def test_each_line_is_taken_or_refused_as_by_the_tool(name: str) -> None:
    assert said(name) == recorded(name)
