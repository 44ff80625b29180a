"""In which order a follower goes through the logs that it begins to follow."""

import re

from cluster import events as e
from cluster.events import Event
from tests.support.kafka_log_lines import lines_of


def elected(name: str, leader: int, at_us: int, epoch: int = 1) -> Event:
    return e.LeaderElected(
        partition=name, leader=leader, leader_epoch=epoch, replicas=(1, 2, 3), isr=(leader, 1), reason="broker fenced",
        at_us=at_us,
    )  # fmt: skip


def led(name: str, leader: int, at_us: int, epoch: int = 1) -> Event:
    return e.LeadershipTaken(
        partition=name, broker=leader, leader_epoch=epoch, log_start=0, high_watermark=0, log_end=0, bytes=0,
        at_us=at_us,
    )  # fmt: skip


def cut(*events: Event) -> list[str]:
    """Which log each line is about: `PARTITION on BROKER`."""
    said = re.compile(r"\[UnifiedLog partition=(\S+), dir=/broker-(\d)\] Truncating to 0 has no effect as the largest")
    return [f"{found[1]} on {found[2]}" for line in lines_of(*events) if (found := said.match(line))]


def test_a_follower_begins_when_its_leader_leads_all_that_it_was_given() -> None:
    names = ("s50-1", "s50-4")
    given = [elected(name, 2, 5) for name in names]
    assert cut(*given, led("s50-1", 2, 5)) == []
    each = ["s50-4 on 1", "s50-1 on 1", "s50-4 on 3", "s50-1 on 3"]
    assert cut(*given, *(led(name, 2, 5) for name in names)) == each


def test_what_another_broker_leads_after_all_is_not_waited_for() -> None:
    given = [elected("s50-1", 2, 5), elected("s50-4", 2, 5), elected("s50-4", 3, 6, 2)]
    assert cut(*given, led("s50-1", 2, 7)) == ["s50-1 on 1", "s50-1 on 3"]


def test_a_broker_that_comes_back_follows_one_leader_after_the_other() -> None:
    names = {"s50-1": 2, "s50-2": 3, "s50-4": 2}
    begun = [one for name, leader in names.items() for one in (elected(name, leader, 0), led(name, leader, 0))]
    back = [e.BrokerStopped(broker=1, how="kill"), e.BrokerStateChanged(broker=1, state="Running")]
    assert cut(*begun, *back) == ["s50-4 on 1", "s50-1 on 1", "s50-2 on 1"]
