"""A flight like the recorded session of `kafka-reassign-partitions.sh`: each look prints what Kafka's tool printed."""

import json
import re
from functools import cache

import pytest

from cluster.commands import CommandError
from cluster.view import ClusterView
from recordings.kafka_tools import reassignments
from recordings.kafka_tools.look import look, only_looks
from recordings.kafka_tools.orders import orders_of
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.refusals import refusal_of
from recordings.kafka_tools.tool_lines import read_tool_line
from recordings.scenarios.loader import parse_scenario
from tests.support.kafka_tools_recorded import LOOKS, looked_at, view_at

FLIGHT = """
title = "as it was recorded; broker-3, which copied slowly there, is frozen here"
until = "45s"
[cluster]
brokers = 3
[[topic]]
name = "moved"
partitions = 3
replication = 2
"""
STEPS = {
    1.0: ["reassign moved-1 to 2,1", "reassign moved-2 to 1,2"],  # where the recorded topic begins
    3.0: ["reassign moved-1 to 3,1"],
    6.0: ["reassign moved-2 to 2"],
    9.5: ["pause broker-3 for 7s"],
    10.0: ["reassign moved-0 to 3,2"],
    12.0: ["reassign moved-0 to 1,2"],
    13.0: ["cancel reassignment of moved-0"],
    14.0: ["reassign moved-2 to 3,2", "reassign moved-0 to 3,1,2"],
    15.0: ["cancel reassignment of moved-0", "cancel reassignment of moved-2"],
    20.0: ["kill broker-3"],
    40.0: ["reassign moved-1 to 2,1"],
}
INSTANTS_S = {
    "reassign-list-none": 2.9,
    "reassign-completed": 5.0,
    "reassign-fewer": 5.9,
    "reassign-fewer-described": 7.0,
    "reassign-slow": 9.9,
    "reassign-list": 11.0,
    "reassign-back": 11.9,
    "reassign-back-list": 12.9,
    "reassign-cancelled-described": 13.9,
    "reassign-two-list": 14.9,
    "reassign-to-dead": 39.9,
    "reassign-from-dead-described": 42.0,
}
"""At which instant of the flight a look, and those that were recorded after it, is taken."""
RECORDED = [name for name in LOOKS if name.startswith(("reassign", "generate"))]
PROPOSES = {"generate", "generate-unknown-broker"}
"""What the tool proposes begins at a random broker."""
SPEC = parse_scenario(
    FLIGHT + "".join(f'[[at]]\ntime = "{at_s}s"\ndo = "{do}"\n' for at_s, steps in STEPS.items() for do in steps),
    "like-the-recorded",
).spec


def instant_of(name: str) -> float:
    """When a look is taken, in seconds."""
    before = [INSTANTS_S[one] for one in RECORDED[: RECORDED.index(name) + 1] if one in INSTANTS_S]
    return before[-1]


@cache
def cluster_at(at_s: float) -> ClusterView:
    return view_at(SPEC, at_s)


def made(name: str) -> Printed:
    """What Flightdeck prints, or refuses, at a look."""
    line, view = read_tool_line(LOOKS[name]["command"]), cluster_at(instant_of(name))
    if only_looks(line):
        return look(looked_at(SPEC, view), line)
    orders_of(line)
    return refusal_of(view, line) or reassignments.done(view, line)


def said(name: str) -> str:
    """The same, refusals of a line in the tool's words, too."""
    try:
        return made(name).streams.strip("\n")
    except CommandError as error:
        return error.message


def recorded(name: str) -> str:
    """What was printed, without what no flight has: ids of topics, ELR, throttles, directories of logs."""
    text = re.sub(r'"/[^"]*/data-\d"', '"any"', LOOKS[name]["printed"].strip("\n"))
    text = re.sub(r"\tTopicId: \S+|,follower\.replication\.throttled\.replicas=\S+", "", text)
    return text.replace("Elr: \tLastKnownElr: ", "Elr: N/A\tLastKnownElr: N/A")


def without_prefix(text: str, name: str) -> str:
    """An error that is raised where the line is typed has no `Error: ` before it."""
    try:
        made(name)
    except CommandError:
        return text.removeprefix("Error: ")
    return text


def test_the_session_was_recorded() -> None:
    assert len(RECORDED) >= 55
    assert set(INSTANTS_S) <= set(RECORDED)


@pytest.mark.parametrize("name", sorted(set(RECORDED) - PROPOSES))
def test_each_look_prints_what_the_tool_printed(name: str) -> None:
    assert said(name) == without_prefix(recorded(name), name)


def proposed(text: str) -> list[list[int]]:
    return [one["replicas"] for one in json.loads(text.splitlines()[-1])["partitions"]]


@pytest.mark.parametrize("name", sorted(PROPOSES))
def test_a_proposal_is_one_that_the_tool_could_make(name: str) -> None:
    """As many partitions as there are brokers come in a row from one of them on; those after it are shuffled."""
    real, here = recorded(name), said(name)
    assert here.splitlines()[:-1] == real.splitlines()[:-1]
    brokers = sorted({broker for replicas in proposed(real) for broker in replicas})
    rows = proposed(real)[: len(brokers)], proposed(here)[: len(brokers)]
    followed = [sorted((first, second) for first, second in each) for each in rows]
    assert (
        followed[0] == followed[1] == [(one, brokers[(place + 1) % len(brokers)]) for place, one in enumerate(brokers)]
    )
    assert len(proposed(here)) == len(proposed(real)) == 3


def test_an_assignment_that_was_saved_is_a_reassignment_back() -> None:
    saved = next(one for one in said("reassign-slow").splitlines() if one.startswith("{"))
    back = read_tool_line(f"kafka-reassign-partitions.sh --execute --additional --reassignment-json-file '{saved}'")
    assert [str(command) for command in orders_of(back)] == [
        str(command) for command in orders_of(read_tool_line(LOOKS["reassign-back"]["command"]))
    ]


def test_a_look_at_another_instant_is_found() -> None:
    """The comparison fails for the view of a second later."""
    line = read_tool_line(LOOKS["reassign-list"]["command"])
    view = cluster_at(instant_of("reassign-cancelled-described"))
    other = look(looked_at(SPEC, view), line)
    assert other.out.strip() != recorded("reassign-list")
