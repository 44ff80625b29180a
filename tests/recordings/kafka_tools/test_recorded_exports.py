"""A flight like the recorded session of `--export` and `--list`: each line prints what Kafka's tool printed."""

import re
from functools import cache

import pytest

from cluster.commands import CommandError
from cluster.view import ClusterView
from recordings.kafka_tools.look import look
from recordings.kafka_tools.tool_lines import read_tool_line
from tests.support.kafka_tools_recorded import LOOKS, like_the_recorded, looked_at, view_at

RECORDED = [name for name in LOOKS if name.startswith("export")]
EXECUTED = "export-execute"
"""It commits: the group is there from then on."""
COMMITTED_S, END_S = 2, 4
SPEC = like_the_recorded(
    END_S,
    f"""
[[topic]]
name = "exported"
partitions = 2
[[topic]]
name = "orders.of-the_northern.region"
partitions = 2
[[group]]
name = "kept"
topics = ["exported"]
members = 0
[[at]]
time = "{COMMITTED_S}s"
do = '{LOOKS[EXECUTED]["command"].replace(" --export", "")}'
""",
)


@cache
def view_before(at_s: float) -> ClusterView:
    return view_at(SPEC, at_s - 0.1)


def said(name: str) -> str:
    """What Flightdeck prints, or refuses, at a look."""
    view = view_before(COMMITTED_S if RECORDED.index(name) < RECORDED.index(EXECUTED) else END_S)
    try:
        return look(looked_at(SPEC, view), read_tool_line(LOOKS[name]["command"])).streams.strip("\n")
    except CommandError as error:
        return in_any_order(error.message)


def in_any_order(refusal: str) -> str:
    """A refusal whose states stand by name: their order is another one in each Java process."""
    before, found, states = refusal.partition("Valid states are: ")
    return f"{before}{found}{', '.join(sorted(states.split(', ')))}" if found else refusal


def test_the_session_was_recorded() -> None:
    assert len(RECORDED) >= 19


@pytest.mark.parametrize("name", [name for name in RECORDED if name != EXECUTED])
def test_each_look_prints_what_the_tool_printed(name: str) -> None:
    assert said(name) == in_any_order(re.sub(r"^Error: ", "", LOOKS[name]["printed"].strip("\n")))
