"""Names, labels and types are those that real exporters said beside a real Kafka; docs and examples name only those."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from recordings.metrics.catalogue import EXPORTED, ExportedMetric
from tests.support.metrics_page import PAGE, ROOT, left_out, real_metrics, unexplained, with_table

EXAMPLES = ROOT / "examples" / "prometheus"
PARTLY = {"kafka_consumer_fetch_manager_records_consumed": {frozenset({"clientId", "topic"})}}
"""Label sets that are left out, and that the page names."""
METRIC = re.compile(r"\bkafka_\w+")


def unlike(exported: dict[str, ExportedMetric]) -> list[str]:
    """What differs from the recorded names, labels and types."""
    kinds = {one.name: one.kind for one in real_metrics()}
    labels: dict[str, set[frozenset[str]]] = {}
    for one in real_metrics():
        labels.setdefault(one.name, set()).add(frozenset(one.labels))
    found = []
    for name, metric in exported.items():
        if kinds.get(name) != metric.kind:
            found.append(f"{name} is {kinds.get(name)}, not {metric.kind}")
        elif {frozenset(one) for one in metric.labels} | PARTLY.get(name, set()) != labels[name]:
            found.append(f"{name} has other labels: {labels[name]}")
    exporters = {one.name for one in real_metrics() if one.source == "kafka_exporter"}
    found += [f"{name}: instance" for name, metric in exported.items() if metric.per_process == (name in exporters)]
    return found


def test_every_metric_is_a_real_one() -> None:
    assert unlike(dict(EXPORTED)) == []


@pytest.mark.parametrize(
    "change",
    [{"name": "kafka_consumergroup_lags"}, {"kind": "counter"}, {"labels": (("group", "topic", "partition"),)}],
    ids=str,
)
def test_another_name_type_or_label_is_found(change: dict[str, Any]) -> None:
    wrong = EXPORTED["kafka_consumergroup_lag"]._replace(**change)
    assert unlike(dict(EXPORTED) | {wrong.name: wrong}) != []


def test_every_real_metric_is_exported_or_said_to_be_left_out() -> None:
    assert unexplained(PAGE.read_text(encoding="utf-8")) == []


def test_a_metric_that_no_line_explains_is_found() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "kafka_broker_info" in left_out(page)
    assert unexplained(page.replace("`kafka_broker_info`", "`kafka_broker_infos`")) == [
        "kafka_broker_info",
        "kafka_broker_infos",
    ]


def test_the_page_has_the_metrics_of_the_catalogue() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page) == page, "python -m tests.support.metrics_page writes it"


# --- examples ---


def unknown(text: str) -> set[str]:
    return set(METRIC.findall(text)) - set(EXPORTED)


def queries(dashboard: dict[str, Any]) -> Iterator[str]:
    for panel in dashboard["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    yield from (variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query")


def labels_by(query: str) -> set[str]:
    """The labels that a query aggregates by or selects with."""
    by = re.findall(r"\bby \(([^)]*)\)", query)
    return {label.strip() for group in by for label in group.split(",")} | set(re.findall(r"[{,](\w+)[=!]~?\"", query))


def test_the_dashboard_queries_only_metrics_and_labels_that_are_there() -> None:
    dashboard = json.loads((EXAMPLES / "grafana-kafka.json").read_text(encoding="utf-8"))
    found = list(queries(dashboard))
    assert len(found) > 10
    for query in found:
        names = METRIC.findall(query)
        assert names, query
        assert unknown(query) == set()
        for label in labels_by(query):
            known = {one for name in names for labels in EXPORTED[name].labels for one in labels} | {"instance"}
            assert label in known, query


def test_the_alert_rules_query_only_metrics_that_are_there() -> None:
    rules = yaml.safe_load((EXAMPLES / "alerts.yml").read_text(encoding="utf-8"))["groups"][0]["rules"]
    assert len(rules) == 8
    assert [rule["alert"] for rule in rules if not METRIC.search(rule["expr"]) or unknown(rule["expr"])] == []


def test_a_query_of_another_metric_is_found() -> None:
    assert unknown("sum(kafka_consumergroup_lag_seconds) > kafka_brokers") == {"kafka_consumergroup_lag_seconds"}


def test_the_page_names_files_that_are_there() -> None:
    assert (PAGE.parent / "../examples/prometheus").is_dir()
    assert {path.name for path in Path(EXAMPLES).iterdir()} == {"prometheus.yml", "alerts.yml", "grafana-kafka.json"}
