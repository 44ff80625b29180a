"""Series of lag as files have them; what a file lacks is said with its line."""

import json

import pytest

from recordings.importing.draft import ClusterDraft, ImportFileError
from recordings.importing.lag_series import FEWEST_SAMPLES, read_lag_table, read_prometheus

ROWS = range(FEWEST_SAMPLES)


def read(text: str) -> ClusterDraft:
    draft = ClusterDraft()
    read_lag_table(text, "lag.csv", draft)
    return draft


def series(draft: ClusterDraft) -> dict[str, list[tuple[float, float]]]:
    return {name: [(one.at_s, one.records) for one in group.lag_series] for name, group in draft.groups.items()}


@pytest.mark.parametrize(
    "instant",
    [
        lambda row: str(15 * row),
        lambda row: str(1_700_000_000 + 15 * row),
        lambda row: str(1_700_000_000_000 + 15_000 * row),
        lambda row: f"2026-11-27T10:{row // 4:02d}:{row % 4 * 15:02d}Z",
        lambda row: f"2026-11-27 10:{row // 4:02d}:{row % 4 * 15:02d}",
    ],
    ids=["seconds", "Unix seconds", "Unix milliseconds", "ISO 8601", "a date as Grafana writes it"],
)
def test_an_instant_may_be_written_in_many_ways(instant: object) -> None:
    text = "Time,Lag\n" + "".join(f"{instant(row)},{row}\n" for row in ROWS)  # type: ignore[operator]
    assert series(read(text)) == {"group": [(15.0 * row, float(row)) for row in ROWS]}


def test_partitions_of_a_group_are_added() -> None:
    text = "time,group,topic,partition,lag\n"
    text += "".join(f"{row},billing,orders,{partition},{row}\n" for row in reversed(ROWS) for partition in (0, 1))
    assert series(read(text)) == {"billing": [(float(row), 2.0 * row) for row in ROWS]}


def test_a_table_s_columns_name_topics_and_partitions() -> None:
    draft = read("time,group,topic,partition,lag\n" + "".join(f"{row},billing,returns,4,{row}\n" for row in ROWS))
    assert draft.groups["billing"].topics == {"returns"}
    assert draft.topics["returns"].seen == 4


def test_each_column_may_be_a_group_and_an_empty_cell_is_no_sample() -> None:
    text = "Time,billing,audit\n0,,7\n" + "".join(f'{row + 1},"1,00{row}",{row}\n' for row in ROWS)
    found = series(read(text))
    assert found["billing"] == [(float(row), 1000.0 + row) for row in ROWS]
    assert found["audit"][0] == (0.0, 7.0)


def test_a_column_without_a_legend_is_called_by_its_labels() -> None:
    title = """"kafka_consumergroup_lag{{consumergroup=""billing"", topic=""orders"", partition=""{0}""}}\""""
    text = f"Time,{title.format(0)},{title.format(4)}\n" + "".join(f"{row},{row},{row}\n" for row in ROWS)
    draft = read(text)
    assert series(draft) == {"billing": [(float(row), 2.0 * row) for row in ROWS]}
    assert draft.groups["billing"].topics == {"orders"}
    assert draft.topics["orders"].seen == 4
    bare = read(text.replace(', partition=""0""', "").replace(', partition=""4""', ""))
    assert bare.topics["orders"].seen == -1


@pytest.mark.parametrize("between", [";", "\t"])
def test_cells_may_be_separated_otherwise_and_then_have_decimal_commas(between: str) -> None:
    text = between.join(("time", "lag")) + "\n" + "".join(f"{row}{between}{row},5\n" for row in ROWS)
    assert series(read(text)) == {"group": [(float(row), row + 0.5) for row in ROWS]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lag.csv:1: no column is called time"),
        ("when,lag\n1,2\n", "lag.csv:1: no column is called time"),
        ("time,lag\n", "lag.csv: it has no sample of a lag"),
        ("time,lag\n1,2\n", "lag.csv: the lag of group has 1 samples; 8 are needed at least"),
        ("time,lag\nsoon,2\n", "lag.csv:2: soon is neither a number of seconds nor a date with a time"),
        ("time,lag\n1,many\n", "lag.csv:2: many is not a number of records"),
        ("time,lag\n1,-4\n", "lag.csv:2: -4 is no lag: it is from 0 to 1,000,000,000,000,000"),
        ("time,lag\n1,inf\n", "lag.csv:2: inf is no lag: it is from 0 to 1,000,000,000,000,000"),
        ("time,lag\ninf,4\n", "lag.csv:2: inf is no instant"),
        ("time,lag\n1,2,3\n", "lag.csv:2: it has 3 cells; the first line has 2"),
        (f"time,lag\n1,{'9' * 4_000}x\n", f"lag.csv:2: {'9' * 80}… is not a number of records"),
        (f"time,group,lag\n1,{'g' * 4_000},2\n", f"lag.csv: the lag of {'g' * 80}… has 1 samples"),
        ("time,lag\n1," + "2" * 200_000 + "\n", "lag.csv:2: it is not CSV: field larger than field limit"),
    ],
)
def test_what_is_wrong_in_a_table_is_said_with_its_line(text: str, said: str) -> None:
    with pytest.raises(ImportFileError) as caught:
        read(text)
    assert str(caught.value).startswith(said)


def answer(result: object, result_type: str = "matrix") -> str:
    return json.dumps({"status": "success", "data": {"resultType": result_type, "result": result}})


def labelled(partition: int, **labels: str) -> dict[str, object]:
    values = [[1_700_000_000.5 + 15 * row, str(row + partition)] for row in ROWS]
    return {"metric": {"__name__": "kafka_consumergroup_lag", "partition": str(partition), **labels}, "values": values}


def test_a_partition_that_two_exporters_measure_counts_once() -> None:
    """Grafana and Prometheus show a series for each exporter: added, the lag were twice what it is."""
    draft = ClusterDraft()
    labels = {"consumergroup": "billing", "topic": "orders"}
    first, other = (labelled(number, **labels, instance="a:9308") for number in range(2))
    second = {"metric": {**first["metric"], "instance": "b:9308"}, "values": other["values"]}  # type: ignore[dict-item]
    read_prometheus(answer([first, second, other]), "lag.json", draft)
    assert series(draft) == {"billing": [(15.0 * row, 2.0 * row + 2) for row in ROWS]}
    assert draft.guessed == ["billing: a lag that lag.json has twice counts once, the larger"]


@pytest.mark.parametrize("label", ["consumergroup", "group", "group_id", "consumer_group"])
def test_prometheus_labels_name_group_topic_and_partition(label: str) -> None:
    draft = ClusterDraft()
    text = answer([labelled(number, topic="orders", **{label: "billing"}) for number in range(3)])
    read_prometheus(text, "lag.json", draft)
    assert series(draft) == {"billing": [(15.0 * row, 3.0 * row + 3) for row in ROWS]}
    assert draft.groups["billing"].topics == {"orders"}
    assert draft.topics["orders"].seen == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "it is not what Prometheus answers to a range query"),
        ('{"status": "error"}', "it is not what Prometheus answers to a range query"),
        ('{"status": "error", "error": "bad\\u001b range"}', "Prometheus answered with an error: bad\x1b range"),
        (answer([], "vector"), "its result is a vector; query_range answers with a matrix"),
        (answer([]), "it has no sample of a lag"),
        (answer([{"metric": {}, "values": [["a", "b"]]}]), "it is not what Prometheus answers to a range query"),
        (answer([{"metric": {}, "values": [[1, "NaN"]]}]), "it has no sample of a lag"),
        (answer([]).replace("[]", "[" * 100_000), "it is nested too deeply for an answer of Prometheus"),
    ],
)
def test_another_answer_of_prometheus_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(ImportFileError, match=said):
        read_prometheus(text, "lag.json", ClusterDraft())
