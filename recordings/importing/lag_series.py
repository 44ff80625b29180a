"""The lag of groups over time, from a table (CSV) or from Prometheus' answer to a range query (JSON)."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from recordings.importing.draft import ClusterDraft, ImportFileError, LagSample
from recordings.scenarios.toml_tables import cut

MOST_RECORDS: Final = 10**15
TABLE: Final = (".csv",)
PROMETHEUS: Final = (".json",)
UNNAMED: Final = "group"
FEWEST_SAMPLES: Final = 8
_TIMES: Final = ("time", "timestamp", "ts", "at", "date", "seconds")
_GROUPS: Final = ("group", "consumergroup", "consumer_group", "group_id")
"""Labels that exporters give a group's name, such as kafka_exporter's and kminion's."""
_TOPICS: Final = ("topic", "topic_name")
_PARTITIONS: Final = ("partition", "partition_id")
_SCRAPED: Final = frozenset({"instance", "pod", "container", "replica", "prometheus", "prometheus_replica"})
"""Labels of where a sample was scraped: two exporters of a cluster measure the same lag."""
_LABELS: Final = re.compile(r"[a-zA-Z0-9_:]*\{.*\}")
_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')
_LAST: Final = 1e15
_MILLISECONDS: Final = 1e11  # an instant of Unix time above this is in milliseconds: in seconds it were the year 5138


class _Series(msgspec.Struct):
    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    result_type: str = msgspec.field(name="resultType")
    result: list[Any] = []


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""


class _Sums:
    """Samples of a group by instant, over all its partitions."""

    def __init__(self) -> None:
        self._by_group: dict[str, dict[float, float]] = {}
        self._known: dict[tuple[str, str, float], float] = {}
        self.twice = set[str]()
        """Groups of which the same lag was measured twice."""

    def add(self, group: str, seconds: float, records: float, measured: str = "") -> None:
        """One more partition's lag, or that of the whole group; what was `measured` twice counts once, the larger."""
        group = group or UNNAMED
        sums = self._by_group.setdefault(group, {})
        if measured:
            before = self._known.get((group, measured, seconds))
            if before is not None:
                self.twice.add(group)
                records = max(records - before, 0.0)
            self._known[group, measured, seconds] = (before or 0.0) + records
        sums[seconds] = sums.get(seconds, 0.0) + records

    def keep(self, file: str, draft: ClusterDraft) -> None:
        """Give each group its series, from its first instant on. Raises ImportFileError: a series is too short."""
        if not self._by_group:
            raise ImportFileError(file, 0, "it has no sample of a lag")
        for name, sums in self._by_group.items():
            if len(sums) < FEWEST_SAMPLES:
                reason = f"the lag of {cut(name)} has {len(sums)} samples; {FEWEST_SAMPLES} are needed at least"
                raise ImportFileError(file, 0, reason)
            first = min(sums)
            draft.group(name).lag_series = [LagSample(at - first, sums[at]) for at in sorted(sums)]
        draft.guessed += [f"{name}: a lag that {file} has twice counts once, the larger" for name in sorted(self.twice)]


def _rows(text: str, between: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, each with its last line. Raises ImportFileError for a text that is none."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=between)
    try:
        for row in rows:
            yield rows.line_num, row
    except csv.Error as error:
        raise ImportFileError(file, rows.line_num, f"it is not CSV: {error}") from None


def read_lag_table(text: str, file: str, draft: ClusterDraft) -> None:
    """Rows of time and lag, with a column for the group or not; or a column for each group, as Grafana exports them.

    Raises ImportFileError.
    """
    between = _separator(text.partition("\n")[0])
    rows = _rows(text if between == "," else text.replace(",", "."), between, file)
    titles = [title.strip() for title in next(rows, (0, []))[1]]
    names = [title.lower() for title in titles]
    time = _column(names, _TIMES)
    if time is None:
        raise ImportFileError(file, 1, f"no column is called {', '.join(_TIMES[:-1])} or {_TIMES[-1]}")
    lag = _column(names, ("lag", "value"))
    others = _TOPICS + _PARTITIONS + _GROUPS
    of = [place for place, name in enumerate(names) if name in others]
    whose = [
        (place, title if lag is not None else _title_group(title, draft))
        for place, title in enumerate(titles)
        if place != time and names[place] not in others
    ]
    sums = _Sums()
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(titles):
            raise ImportFileError(file, line, f"it has {len(row)} cells; the first line has {len(titles)}")
        seconds = _seconds(row[time], file, line)
        if lag is not None:
            labels = {names[place]: row[place].strip() for place in of}
            _note(sums, _group_of(labels, draft), seconds, row[lag], (file, line), _measured(labels))
            continue
        for place, title in whose:
            _note(sums, title, seconds, row[place], (file, line))
    sums.keep(file, draft)


def read_prometheus(text: str, file: str, draft: ClusterDraft) -> None:
    """What `/api/v1/query_range` answers: series by the labels of their group. Raises ImportFileError."""
    try:
        answer = msgspec.json.decode(text, type=_Answer)
        if answer.error:
            raise ImportFileError(file, 0, f"Prometheus answered with an error: {cut(answer.error)}")
        if answer.data is None:
            raise ImportFileError(file, 0, "it is not what Prometheus answers to a range query: it has no data")
        if answer.data.result_type != "matrix":
            reason = f"its result is a {answer.data.result_type}; query_range answers with a matrix"
            raise ImportFileError(file, 0, reason)
        series = msgspec.convert(answer.data.result, list[_Series])
    except msgspec.DecodeError as error:
        raise ImportFileError(file, 0, f"it is not what Prometheus answers to a range query: {error}") from None
    except RecursionError:
        raise ImportFileError(file, 0, "it is nested too deeply for an answer of Prometheus") from None
    sums = _Sums()
    for number, one in enumerate(series):
        group = _group_of(one.metric, draft)
        for seconds, value in one.values:
            _note(sums, group, seconds, value, (f"{file}, series {number + 1}", 0), _measured(one.metric))
    sums.keep(file, draft)


def _group_of(labels: Mapping[str, str], draft: ClusterDraft) -> str:
    """The group of a series, from its labels; the draft gets the topic and partition that they name."""
    group = _label(labels, _GROUPS)
    if topic := _label(labels, _TOPICS):
        draft.group(group or UNNAMED).topics.add(topic)
        draft.topic(topic)
        partition = _label(labels, _PARTITIONS)
        if partition.isdecimal():
            draft.topic(topic).seen = max(draft.topic(topic).seen, int(partition))
    return group


def _title_group(title: str, draft: ClusterDraft) -> str:
    """The group that a column is called by: its title, or the labels in it where a panel has no legend."""
    labels = dict(_LABEL.findall(title)) if _LABELS.fullmatch(title) is not None else {}
    return _group_of(labels, draft) or title


def _separator(titles: str) -> str:
    """What separates cells: a comma; or a semicolon or a tab, where a comma is a decimal one."""
    return next((mark for mark in ";\t" if mark in titles and "," not in titles), ",")


def _label(labels: Mapping[str, str], names: Sequence[str]) -> str:
    return next((labels[name] for name in names if name in labels), "")


def _column(names: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((names.index(name) for name in wanted if name in names), None)


def _measured(labels: Mapping[str, str]) -> str:
    """What a series of these labels measures, whichever exporter was asked; "" for one that names no partition."""
    if not _label(labels, _GROUPS) or not _label(labels, _PARTITIONS):
        return ""
    return repr(sorted((name, value) for name, value in labels.items() if name not in _SCRAPED))


def _note(sums: _Sums, group: str, seconds: float, value: str, place: tuple[str, int], measured: str = "") -> None:
    """A sample; an empty cell and NaN are none."""
    shown = value.strip().replace(",", "").replace(" ", "")
    if not shown or shown.lower() in ("nan", "null", "undefined"):
        return
    try:
        records = float(shown)
    except ValueError:
        raise ImportFileError(*place, f"{cut(value.strip())} is not a number of records") from None
    if not 0 <= records <= MOST_RECORDS:
        raise ImportFileError(*place, f"{cut(value.strip())} is no lag: it is from 0 to {MOST_RECORDS:,}")
    sums.add(group.strip(), seconds, records, measured)


def _seconds(text: str, file: str, line: int) -> float:
    """Seconds of an instant: a number of them, Unix time in seconds or milliseconds, or a date with a time."""
    shown = text.strip()
    try:
        number = float(shown)
    except ValueError:
        try:
            moment = datetime.fromisoformat(shown)
        except ValueError:
            raise ImportFileError(
                file, line, f"{cut(shown)} is neither a number of seconds nor a date with a time"
            ) from None
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not abs(number) <= _LAST:
        raise ImportFileError(file, line, f"{cut(shown)} is no instant")
    return number / 1000 if number > _MILLISECONDS else number
