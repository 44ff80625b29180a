"""A flight like the recorded session of `kafka-get-offsets.sh`: each line prints what Kafka's tool printed."""

import re
from functools import cache

import pytest

from cluster import events as e
from cluster.view import ClusterView, fold
from recordings.kafka_tools.leader_logs import LeaderLogs
from recordings.kafka_tools.look import LookedAtFlight, configs_of, logs_needed, look
from recordings.kafka_tools.tool_lines import read_tool_line
from tests.support.kafka_tools_recorded import LOOKS, SECOND_US, flown, like_the_recorded

RECORDED = [name for name in LOOKS if name.startswith("offsets-")]
DELETION, LEADERLESS, NEWEST = "offsets-deletion", "offsets-leaderless", "offsets-max"
DELETED_S, KILLED_S, END_S = 3, 4, 30
SPEC = like_the_recorded(
    END_S,
    f"""
[[topic]]
name = "measured"
replica_assignment = [[1, 2]]
[[topic]]
name = "measured.more"
replica_assignment = [[1, 2], [2, 1]]
[[topic]]
name = "alone"
replica_assignment = [[3]]
[[producer]]
name = "console"
topics = ["measured"]
rate = "5/s"
[[at]]
time = "900ms"
do = "stop console-1"
[[at]]
time = "{DELETED_S}s"
do = '''{LOOKS[DELETION]["command"]}'''
[[at]]
time = "{KILLED_S}s"
do = "kill broker-3"
""",
)


class Instant:
    """The view of a flight at an instant, and the logs of its leaders."""

    def __init__(self, at_s: float) -> None:
        self.events = [event for event in events() if event.at_us < at_s * SECOND_US]
        self.view = ClusterView()
        for event in self.events:
            fold(self.view, event)

    def look(self, text: str) -> str:
        """What Flightdeck prints."""
        line = read_tool_line(text)
        logs = LeaderLogs(logs_needed(self.view, line))
        for event in self.events:
            logs(event)
        configs = configs_of(SPEC, self.view)
        return look(LookedAtFlight(self.view, self.view.at_us, configs, logs.logs.__getitem__), line).streams


@cache
def events() -> list[e.Event]:
    return flown(SPEC)


@cache
def instant(at_s: float) -> Instant:
    return Instant(at_s)


def test_the_session_was_recorded() -> None:
    assert len(RECORDED) >= 34
    measured = instant(KILLED_S).view.partitions["measured-0"]
    assert (measured.log_start, measured.high_watermark) == (2, 5)


@pytest.mark.parametrize("name", [name for name in RECORDED if name not in {DELETION, LEADERLESS, NEWEST}])
def test_each_look_prints_what_the_tool_printed(name: str) -> None:
    assert instant(KILLED_S).look(LOOKS[name]["command"]).strip("\n") == LOOKS[name]["printed"].strip("\n")


def test_a_partition_without_a_leader_is_skipped_when_the_tool_gives_up() -> None:
    """The numbers of its call are unknown: how often the admin client asks depends on its machine."""
    printed = LOOKS[LEADERLESS]["printed"].strip("\n")
    known = re.sub(r"deadlineMs=.* timed out .*", "…) timed out", printed, flags=re.DOTALL)
    skipped, offset = instant(END_S).look(LOOKS[LEADERLESS]["command"]).strip("\n").split("\n")
    assert f"{offset}\n\n{skipped}" == known


def test_the_newest_record_is_the_first_of_the_newest_batch() -> None:
    """As recorded, it may be deleted already: the tool said 1, and the log began at 2."""
    newest = max(appended(), key=lambda each: each.created_us)
    assert instant(KILLED_S).look(LOOKS[NEWEST]["command"]) == f"measured:0:{newest.base_offset}\n"


def test_each_timestamp_has_the_first_batch_that_is_not_older() -> None:
    beginning = instant(KILLED_S).view.partitions["measured-0"].log_start
    seen = set()
    for millisecond in range(0, 1_000, 7):
        bases = [each.base_offset for each in appended() if each.created_us >= millisecond * 1_000]
        expected = [max(base, beginning) for base in bases if base + 1 > beginning][:1]
        said = instant(KILLED_S).look(f"kafka-get-offsets.sh --topic measured --time {millisecond}")
        assert said == "".join(f"measured:0:{offset}\n" for offset in expected)
        seen.add(said)
    assert len(seen) >= 4


def appended() -> list[e.RecordsAppended]:
    """The batches of `measured-0`, each with one record."""
    of_all = [each for each in events() if isinstance(each, e.RecordsAppended) and each.partition == "measured-0"]
    assert all(each.count == 1 for each in of_all)
    return of_all
