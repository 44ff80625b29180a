"""The levels of the game: what may be hidden, among how much noise, and for how long."""

from typing import NamedTuple

SECOND_US = 1_000_000
FULL = 1_000
"""The points of a game: they are divided among its hidden faults."""
WRONG = 150
"""What a wrong accusation costs."""


class HiddenClass(NamedTuple):
    """A class of hidden faults: its name, and its command with draws in braces (`FaultTargets`)."""

    name: str
    pattern: str


class Level(NamedTuple):
    """A level: `faults` hidden ones are drawn from its classes, `noise` is a number of disturbances; length in µs."""

    number: int
    title: str
    classes: tuple[HiddenClass, ...]
    faults: int
    noise: int
    length_us: int


KILLED_MEMBER = HiddenClass("a killed member", "kill {member}")
FROZEN_MEMBER = HiddenClass("a frozen member", "pause {member}")
STALLED_MEMBER = HiddenClass("a stalled poll loop", "stall {member}")
SLOW_MEMBER = HiddenClass("a slow member", "slow {member} to {400|800}ms")
NO_HEARTBEATS = HiddenClass("a frozen heartbeat thread", "pause heartbeats of {member}")
PAUSED_PARTITIONS = HiddenClass("paused partitions", "pause partitions of {member}")
SLOW_DEPENDENCY = HiddenClass("a slow dependency", "slow dependency of {group} to {400|800}ms")
FAILING_DEPENDENCY = HiddenClass("a failing dependency", "fail dependency of {group}")
KILLED_PRODUCER = HiddenClass("a killed producer", "kill {producer}")
FROZEN_PRODUCER = HiddenClass("a frozen producer", "pause {producer}")
OPEN_TRANSACTION = HiddenClass("an abandoned transaction", "abandon transaction of {transactional}")
KILLED_BROKER = HiddenClass("a killed broker", "kill {broker}")
FROZEN_BROKER = HiddenClass("a frozen broker", "pause {broker}")
ISOLATED_BROKER = HiddenClass("an isolated broker", "isolate {broker}")
FULL_DISK = HiddenClass("a full disk", "fill disk of {broker}")

SILENT = (KILLED_MEMBER, FROZEN_MEMBER)
MEMBERS = (*SILENT, STALLED_MEMBER, SLOW_MEMBER, NO_HEARTBEATS, PAUSED_PARTITIONS)
PRODUCERS = (KILLED_PRODUCER, FROZEN_PRODUCER, OPEN_TRANSACTION)
BROKERS = (KILLED_BROKER, FROZEN_BROKER, ISOLATED_BROKER, FULL_DISK)
GROUPS = (SLOW_DEPENDENCY, FAILING_DEPENDENCY)
EVERYTHING = (*MEMBERS, *PRODUCERS, *BROKERS, *GROUPS)

LEVELS = (
    Level(1, "one silent member", SILENT, 1, 1, 240 * SECOND_US),
    Level(2, "one member", MEMBERS, 1, 3, 240 * SECOND_US),
    Level(3, "one producer", PRODUCERS, 1, 4, 240 * SECOND_US),
    Level(4, "one broker", BROKERS, 1, 4, 240 * SECOND_US),
    Level(5, "anything", EVERYTHING, 1, 6, 300 * SECOND_US),
    Level(6, "two faults at once", EVERYTHING, 2, 6, 300 * SECOND_US),
)
"""Every level, by its number from 1 on."""
