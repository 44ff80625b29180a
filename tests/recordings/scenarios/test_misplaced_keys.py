"""A key that stands in the wrong table is told where it belongs."""

import pytest

from recordings.scenarios.loader import ScenarioErrors, parse_scenario

TABLES = """title = "t"
until = "5s"
{top}
[cluster]
brokers = 3
{cluster}
[[topic]]
name = "orders"
{topic}
[[producer]]
name = "shop"
topics = ["orders"]
{producer}
[[group]]
name = "billing"
topics = ["orders"]
{group}
"""
LINES = {"top": 3, "cluster": 6, "topic": 9, "producer": 13, "group": 17}


@pytest.mark.parametrize(
    ("table", "written", "told"),
    [
        ("top", 'latency = "3ms"', "latency belongs in [network]"),
        ("cluster", "num.partitions = 3", "num.partitions belongs in [cluster.config]"),
        ("topic", "retention.ms = 5000", "retention.ms belongs in [topic.config]"),
        ("producer", 'acks = "all"', "acks belongs in [producer.config]"),
        ("producer", 'kind = "uniform"', "kind belongs in [producer.keys]"),
        ("group", 'per_record = "15ms"', "per_record belongs in [group.application]"),
        ("group", "retries = { attempts = 3 }", "retries belongs in [group.application]"),
        ("group", '"session.timeout.ms" = "20s"', "session.timeout.ms belongs in [group.config]"),
        ("group", "max.poll.records = 5", "max.poll.records belongs in [group.config]"),
        ("group", '"check.crcs" = true', "check.crcs belongs in [group.config]"),
        ("top", 'rate = "5/s"', "rate belongs in [[producer]]"),
        ("top", "application = { per_record = '2ms' }", "application belongs in [[group]]"),
        (
            "top",
            'config = { "linger.ms" = 5 }',
            "config belongs in [cluster] or in [[topic]] or in [[producer]] or in [[group]]",
        ),
        ("top", "[[topics]]", "unknown key topics (did you mean topic?)"),
        ("group", 'title = "late"', "title belongs at the top of the file"),
        ("group", 'until = "9s"', "until belongs at the top of the file"),
        ("group", "[[group.at]]", "at belongs at the top of the file"),
        ("group", "[[group.expect]]", "expect belongs at the top of the file"),
        ("group", 'at = "5s"', "unknown key at"),
        ("group", "max.foll.records = 5", "unknown key max"),
        ("group", "empty = {}", "unknown key empty"),
        ("group", 'acks = "all"', "unknown key acks"),
        ("producer", 'per_record = "15ms"', "unknown key per_record"),
    ],
)
def test_a_key_in_the_wrong_table_is_told_its_own(table: str, written: str, told: str) -> None:
    with pytest.raises(ScenarioErrors) as caught:
        parse_scenario(TABLES.format_map({name: written if name == table else "" for name in LINES}), "f.toml")
    assert str(caught.value).splitlines() == [f"f.toml:{LINES[table]}: {told}"]
