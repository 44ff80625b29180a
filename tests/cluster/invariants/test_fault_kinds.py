"""The kinds of faults that switch a sentence off: each is a kind of command, so that none is misspelt."""

from __future__ import annotations

import pytest

from cluster.commands import kind_of, parse
from cluster.invariants import durations, logs, streams, timeouts

FAULTS = (
    "kill broker-1",
    "stop broker-1",
    "crash broker-1",
    "pause broker-1",
    "pause heartbeats of g-1",
    "stall g-1",
    "scale g to 1",
    "subscribe g-1 to t",
    "set g max.poll.records 1",
    "fill disk of broker-1",
    "slow disk of broker-1 to 1s",
    "lose next 3 responses of Produce from broker-1",
    "abandon transaction of p-1",
)
KINDS = (logs._HARMLESS, durations._OF_ONE_PROCESS, streams._DELAYS_NO_REQUEST, timeouts._OF_PROCESSES)


@pytest.mark.parametrize("kinds", KINDS)
def test_every_kind_is_that_of_a_command(kinds: tuple[str, ...]) -> None:
    assert set(kinds) <= {kind_of(parse(text)) for text in FAULTS}


def test_every_fault_of_this_list_is_in_one_of_the_tables() -> None:
    assert {kind_of(parse(text)) for text in FAULTS} == {kind for kinds in KINDS for kind in kinds}
