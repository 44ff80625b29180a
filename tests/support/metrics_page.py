"""`python -m tests.support.metrics_page` writes the table of docs/metrics.md from the catalogue."""

import re
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from recordings.metrics.catalogue import EXPORTED, ExportedMetric

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "metrics.md"
REAL_NAMES = ROOT / "tests" / "recordings" / "metrics" / "real_names.tsv"
MARKED = re.compile(r"(<!-- metrics -->\n).*?(<!-- end -->)", re.DOTALL)
LEFT_OUT = re.compile(r"<!-- left out -->\n(.*?)\n\n", re.DOTALL)


class RealMetric(NamedTuple):
    """A row of the recorded names."""

    source: str
    name: str
    kind: str
    labels: tuple[str, ...]


def real_metrics() -> list[RealMetric]:
    """What the real exporters said, in the order of the file."""
    lines = [line for line in REAL_NAMES.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("\t") for line in lines[1:]]
    return [
        RealMetric(source, name, kind, tuple(filter(None, labels.split(",")))) for source, name, kind, labels in rows
    ]


def with_table(page: str) -> str:
    """The page with the table as it is now."""
    head = "| metric | labels | | Kafka |\n|---|---|---|---|\n"
    rows = "".join(f"{_row(metric)}\n" for metric in EXPORTED.values())
    return MARKED.sub(lambda match: f"{match[1]}{head}{rows}{match[2]}", page)


def _row(metric: ExportedMetric) -> str:
    own = ("instance",) if metric.per_process else ()
    labels = " or ".join(", ".join((*own, *labels)) or "none" for labels in metric.labels)
    return f"| `{metric.name}` | {labels} | {metric.meaning} | {metric.source.replace('|', ' ')} |"


def left_out(page: str) -> list[str]:
    """The patterns of the metrics that the page says are left out."""
    table = LEFT_OUT.search(page)
    assert table is not None
    return [name for row in table[1].splitlines()[2:] for name in re.findall(r"`(kafka_[\w*]+)`", row.split("|")[1])]


def unexplained(page: str) -> list[str]:
    """Real metrics that are neither exported nor said to be left out, and what is said of no such metric."""
    patterns = left_out(page)
    names = {one.name for one in real_metrics()} - set(EXPORTED)
    missing = [name for name in sorted(names) if not any(fnmatch(name, pattern) for pattern in patterns)]
    void = [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in names)]
    both = [pattern for pattern in patterns if pattern in EXPORTED]
    return [*missing, *void, *both]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
