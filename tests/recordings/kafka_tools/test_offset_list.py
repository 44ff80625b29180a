"""`kafka-get-offsets.sh` where no recorded session looks: parts of batches, compaction, failovers."""

import pytest

from cluster import events as e
from cluster.commands import CommandError
from cluster.view import ClusterView
from cluster.view.brokers import BrokerView
from cluster.view.state import PartitionView, TopicView
from recordings.kafka_tools.leader_logs import LeaderLog
from recordings.kafka_tools.offset_list import get_offsets, offset_logs
from recordings.kafka_tools.printed import Printed
from recordings.kafka_tools.tool_lines import read_tool_line

HIGH_WATERMARK, LOG_END = 30, 40
NAMES = ("orders-0", "orders-1", "orders-2", "orders-100", "returns-0", "__consumer_offsets-0")


def cluster(*, log_start: int = 0) -> ClusterView:
    """Partitions whose leader has a log end above its high watermark."""
    view = ClusterView()
    view.brokers[1] = BrokerView(1, up=True, state="Running")
    for name in NAMES:
        topic, _, number = name.rpartition("-")
        view.topics.setdefault(topic, TopicView(topic, 1, 1, 1, internal=topic.startswith("__")))
        view.partitions_by_topic.setdefault(topic, []).append(name)
        one = PartitionView(name, topic, int(number), leader=1, replicas=(1,), isr=(1,))
        one.log_start, one.high_watermark, one.log_end = log_start, HIGH_WATERMARK, LOG_END
        view.partitions[name] = one
    return view


def batch(base_offset: int, count: int, created_ms: int, marker: str = "") -> e.RecordsAppended:
    return e.RecordsAppended(
        seq=0, at_us=created_ms * 1_000 + 7_000_000, partition="orders-0", leader_epoch=0,
        base_offset=base_offset, count=count, bytes=count, producer="shop-1", first_serial=base_offset, producer_id=1,
        epoch=0, base_sequence=0, marker=marker, created_us=created_ms * 1_000,
    )  # fmt: skip


def advanced(log_start: int, reason: str) -> e.LogStartAdvanced:
    return e.LogStartAdvanced(
        seq=0, at_us=0, partition="orders-0", broker=1, leader_epoch=0, log_start=log_start, bytes=0, reason=reason
    )


def log_of(*batches: e.RecordsAppended) -> LeaderLog:
    log = LeaderLog()
    log.taken(
        e.LeadershipTaken(
            seq=0, at_us=0, partition="orders-0", broker=1, leader_epoch=0, log_start=0, high_watermark=0, log_end=0,
            bytes=0,
        )
    )  # fmt: skip
    for one in batches:
        log.appended(one)
    return log


def ask(options: str, view: ClusterView | None = None, log: LeaderLog | None = None) -> Printed:
    line = read_tool_line(f"kafka-get-offsets.sh {options}")
    return get_offsets(view or cluster(), lambda _: log or LeaderLog(), line)


def offset(time: int, log: LeaderLog, view: ClusterView | None = None) -> str:
    return ask(f"--topic-partitions orders:0 --time {time}", view, log).out.strip()


TEN_EACH = (batch(0, 10, 100), batch(10, 10, 300), batch(20, 10, 200), batch(30, 10, 400))


def test_the_latest_offset_is_the_high_watermark() -> None:
    assert ask("--topic-partitions orders:0").out == f"orders:0:{HIGH_WATERMARK}\n"


@pytest.mark.parametrize(
    ("time", "said"),
    [(0, 0), (100, 0), (101, 10), (300, 10), (301, None), (400, None), (-3, None)],
)
def test_no_timestamp_has_an_offset_at_or_above_the_high_watermark(time: int, said: int | None) -> None:
    """301 ms: the next batch that young is beyond it, and so is the one with the highest timestamp."""
    assert offset(time, log_of(*TEN_EACH)) == ("" if said is None else f"orders:0:{said}")


def test_the_highest_timestamp_is_not_always_that_of_the_last_batch() -> None:
    assert offset(-3, log_of(*TEN_EACH[:3])) == "orders:0:10"


def test_a_timestamp_has_no_offset_below_the_log_start() -> None:
    """Records may be deleted up to the middle of a batch."""
    log = log_of(*TEN_EACH)
    log.advanced(advanced(13, "delete records"))
    assert offset(0, log, cluster(log_start=13)) == "orders:0:13"
    assert offset(250, log, cluster(log_start=13)) == "orders:0:13"


def test_the_highest_timestamp_may_be_of_a_deleted_record_while_its_segment_is_there() -> None:
    """As recorded: the tool said 1, and the log began at 2."""
    log = log_of(*TEN_EACH[:3])
    log.advanced(advanced(30, "delete records"))
    assert offset(-3, log) == "orders:0:10"
    assert offset(0, log) == ""
    log.advanced(advanced(30, "retention"))
    assert offset(-3, log) == ""


def test_what_compaction_removed_has_no_timestamp() -> None:
    log = log_of(*TEN_EACH[:3])
    log.compacted(
        e.LogCompacted(
            seq=0, at_us=0, partition="orders-0", broker=1, first_dirty=0, end=20, records=12, bytes=0,
            removed_from=(0, 10), removed_to=(10, 12),
        )
    )  # fmt: skip
    assert offset(0, log) == "orders:0:12"
    assert offset(-3, log) == "orders:0:12"


def test_a_marker_has_a_timestamp_too() -> None:
    assert offset(250, log_of(TEN_EACH[0], batch(10, 1, 250, "COMMIT"))) == "orders:0:10"


@pytest.mark.parametrize("change", [{"up": False}, {"paused": True}])
def test_a_leader_that_answers_nothing_is_skipped(change: dict[str, bool]) -> None:
    view = cluster()
    for field, value in change.items():
        setattr(view.brokers[1], field, value)
    said = ask("--topic returns", view)
    assert (said.out, said.ok) == ("", True)
    assert said.err.startswith("Skip getting offsets for topic-partition returns-0 due to error: org.apache.kafka")


def test_partitions_are_in_the_order_of_their_names() -> None:
    said = [line.rpartition(":")[0] for line in ask("").out.splitlines()]
    assert said == ["__consumer_offsets:0", "orders:0", "orders:1", "orders:100", "orders:2", "returns:0"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--topic-partitions orders:1-2,", "orders:1"),
        ("--topic-partitions orders:2-", "orders:100 orders:2"),
        ("--topic-partitions :0 --exclude-internal-topics", "orders:0 returns:0"),
        ("--topic '\"orders, returns\"' --partitions 0", "orders:0 returns:0"),
        (f"--topic orders --partitions {'0' * 5000}2", "orders:2"),
    ],
)
def test_rules_name_partitions(options: str, said: str) -> None:
    assert [line.rpartition(":")[0] for line in ask(options).out.splitlines()] == said.split()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (f"--time {'9' * 5000}", "Malformed time argument 999"),
        (f"--partitions {'9' * 5000}", "--partitions expects a comma separated list of numeric"),
        (f"--topic-partitions :{'9' * 5000}", 'For input string: "999'),
        ("--topic-partitions '[:99999999999'", "[ is an invalid regex."),
        ("--topic '[' --partitions 0 --partitions 1", "Found multiple arguments for option partitions"),
        ("--topic orders --topic returns", "Found multiple arguments for option topic"),
        ("--topic 'orders,[x'", "orders|[x is an invalid regex."),
        ("--topic orders --time 0 --topic-partitions orders:0", "--topic-partitions cannot be used with"),
    ],
)
def test_the_tool_fails_in_its_words(options: str, said: str) -> None:
    printed = ask(options)
    assert printed.err.startswith(f"Error occurred: {said}")
    assert not printed.ok
    assert offset_logs(cluster(), read_tool_line(f"kafka-get-offsets.sh {options}")) == [], "it needs no log to say so"


@pytest.mark.parametrize("expression", ["a++", "[[a]", "(?<!" * 5000])
def test_an_expression_that_flightdeck_does_not_read_is_not_called_invalid(expression: str) -> None:
    with pytest.raises(CommandError, match="Flightdeck does not read this expression"):
        ask(f"--topic '{expression}'")


def test_a_new_leader_has_segments_of_its_own() -> None:
    """Retention had removed all of the log that the leader before it had."""
    log = log_of(*TEN_EACH[:3])
    log.advanced(advanced(30, "retention"))
    log.taken(
        e.LeadershipTaken(
            seq=0, at_us=0, partition="orders-0", broker=2, leader_epoch=1, log_start=0, high_watermark=30, log_end=30,
            bytes=0,
        )
    )  # fmt: skip
    assert offset(0, log) == "orders:0:0"
    assert offset(-3, log) == "orders:0:10"
