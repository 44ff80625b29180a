"""The samples of an instant as metric families of `prometheus_client`, which writes them as text."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from cluster.view import ClusterView
from recordings.metrics.catalogue import EXPORTED, INSTANCE, ExportedMetric
from recordings.metrics.counts import ProcessCounts
from recordings.metrics.kafka_exporter import Sample, samples_of_exporter
from recordings.metrics.processes import samples_of_processes


def samples(view: ClusterView, counts: ProcessCounts) -> Iterator[Sample]:
    """Every sample of an instant: `counts` has the events that `view` has."""
    yield from samples_of_exporter(view)
    yield from samples_of_processes(view, counts)


def families(found: Iterable[Sample]) -> list[Metric]:
    """The families of samples, in the order of the catalogue; one without a sample is left out."""
    by_name: dict[str, Metric] = {}
    for sample in found:
        family = by_name.get(sample.name)
        if family is None:
            family = by_name[sample.name] = family_of(EXPORTED[sample.name])
        family.add_sample(sample.name, labels_of(sample), sample.value)
    return [by_name[name] for name in EXPORTED if name in by_name]


def family_of(metric: ExportedMetric) -> Metric:
    """The family of a metric, without samples."""
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    return kind(metric.family, f"{metric.meaning} Kafka: {metric.source}")


def labels_of(sample: Sample) -> dict[str, str]:
    """The labels of a sample, that of its process first."""
    return {INSTANCE: sample.instance, **sample.labels} if sample.instance else dict(sample.labels)
