"""Anomalies from the raw lines of a journal: every record at its offset, one pass, no event class, no view, no SQL."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Line = dict[str, Any]
Found = dict[tuple[str, str], int]
"""(anomaly, producer or group) → records."""
ALL_OF = {"partitions_assigned", "partitions_revoked", "positions_given_up"}


class _Record:
    """One record as it was appended at one offset."""

    def __init__(self, line: Line, number: int) -> None:
        self.producer, self.producer_id, self.serial = (
            line["producer"],
            line["producer_id"],
            line["first_serial"] + number,
        )
        self.seq, self.transactional = line["seq"], line["transactional"]
        self.cut_seq = self.aborted = 0
        self.removed = False

    def stood_at(self, seq: int) -> bool:
        return self.seq < seq and not 0 < self.cut_seq < seq


class RawAnomalies:
    """What every partition's log held, and what every member read of it."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.log: dict[str, dict[int, list[_Record]]] = defaultdict(lambda: defaultdict(list))
        self.undecided: dict[tuple[str, int], list[_Record]] = defaultdict(list)
        self.commits: dict[str, list[tuple[int, int, list[_Record]]]] = defaultdict(list)
        self.epoch: dict[str, int] = {}
        self.leader: dict[str, int] = {}
        self.crashed: dict[str, tuple[int, int]] = {}
        self.start: dict[str, int] = defaultdict(int)
        self.compacted: set[str] = set()
        self.topics: set[str] = set()
        self.reads: list[Line] = []
        self.gaps: list[tuple[Line, int, int]] = []
        self.next: dict[str, dict[str, int]] = defaultdict(dict)
        self.found: dict[tuple[str, str], int] = defaultdict(int)
        for line in lines:
            getattr(self, f"_{line['kind']}", self._other)(line)
        for name, crash in self.crashed.items():
            self._cut(name, *crash)
        self._judge_logs()
        self._judge_reads()

    def _other(self, line: Line) -> None:
        if line["kind"] in ALL_OF:
            for name in line["partitions"]:
                self.next[line["member"]].pop(name, None)

    def _topic_created(self, line: Line) -> None:
        if not line["internal"]:
            self.topics.add(line["topic"])

    # --- logs ---------------------------------------------------------------------------------------------------------

    def _records_appended(self, line: Line) -> None:
        name = line["partition"]
        if line["leader_epoch"] < self.epoch.get(name, -1) or name.rpartition("-")[0] not in self.topics:
            return  # by a leader that another one has replaced
        if line["marker"]:
            ended = self.undecided.pop((name, line["producer_id"]), [])
            for record in ended:
                if line["marker"] == "ABORT" and not record.cut_seq and not record.removed:
                    record.aborted = line["seq"]
            if line["marker"] == "COMMIT":
                self.commits[name].append((line["base_offset"], line["producer_id"], ended))
            return
        for number in range(line["count"]):
            record = _Record(line, number)
            self.log[name][line["base_offset"] + number].append(record)
            if line["transactional"]:
                self.undecided[name, line["producer_id"]].append(record)

    def _leadership_taken(self, line: Line) -> None:
        name = line["partition"]
        if line["leader_epoch"] >= self.epoch.get(name, -1):
            crash = self.crashed.pop(name, None)
            if crash is not None and line["broker"] == self.leader.get(name):
                self._cut(name, *crash)  # else its successor has what the crash took from it
            self.epoch[name], self.leader[name] = line["leader_epoch"], line["broker"]
            self._cut(name, line["log_end"], line["seq"])

    def _log_truncated(self, line: Line) -> None:
        if self.leader.get(line["partition"]) != line["broker"]:
            return
        if line["reason"] == "crash":
            self.crashed.setdefault(line["partition"], (line["offset"], line["seq"]))
        else:
            self._cut(line["partition"], line["offset"], line["seq"])

    def _cut(self, name: str, end: int, seq: int) -> None:
        for offset, records in self.log[name].items():
            if offset >= end and not records[-1].cut_seq:
                records[-1].cut_seq = seq
        kept = []
        for offset, producer_id, records in self.commits[name]:
            if offset < end:
                kept.append((offset, producer_id, records))
            else:  # its transaction is open again
                self.undecided[name, producer_id] += [one for one in records if not one.cut_seq]
        self.commits[name] = kept

    def _log_start_advanced(self, line: Line) -> None:
        self.start[line["partition"]] = max(self.start[line["partition"]], line["log_start"])

    def _log_compacted(self, line: Line) -> None:
        name = line["partition"]
        self.compacted.add(name)
        runs = [range(*run) for run in zip(line["removed_from"], line["removed_to"], strict=True)]
        if line["broker"] != self.leader.get(name):
            return
        for offset, records in self.log[name].items():
            if any(offset in run for run in runs):
                records[-1].removed = True  # a marker decides on nothing that the log has no more

    def _judge_logs(self) -> None:
        for partition in self.log.values():
            offsets: dict[tuple[str, int], int] = defaultdict(int)
            for records in partition.values():
                for record in records:
                    offsets[record.producer, record.serial] += not record.cut_seq and not record.aborted
            last: dict[str, int] = {}
            for offset in sorted(partition):
                record = partition[offset][-1]
                if record.cut_seq or record.aborted:
                    continue
                places = offsets[record.producer, record.serial]
                if places > 1:
                    offsets[record.producer, record.serial] = -places + 1
                    self.found["duplicate", record.producer] += places - 1
                elif places == 1:
                    before = last.get(record.producer, -1)
                    self.found["nonmonotonic-send", record.producer] += record.serial < before
                    last[record.producer] = max(before, record.serial)

    # --- reads --------------------------------------------------------------------------------------------------------

    def _member_stopped(self, line: Line) -> None:
        self.next.pop(line["member"], None)

    def _positions_reset(self, line: Line) -> None:
        for name in line["positions"]:
            self.next[line["member"]].pop(name, None)

    def _record_skipped(self, line: Line) -> None:
        self._read(line, line["offset"], line["offset"] + 1)

    def _records_processed(self, line: Line) -> None:
        self.reads.append(line)
        self._read(line, line["first_offset"], line["next_offset"])

    def _truncated_records_processed(self, line: Line) -> None:
        self.found["inconsistent-offsets", line["group"]] += line["records"]

    def _read(self, line: Line, first: int, end: int) -> None:
        name, known = line["partition"], self.next[line["member"]]
        last = known.get(name, first)
        known[name] = end
        if first < last:
            self.found["nonmonotonic-poll", line["group"]] += last - first
        elif first > last and name not in self.compacted:
            self.gaps.append((line, max(last, self.start[name]), first))

    def _judge_reads(self) -> None:
        for line in self.reads:
            log = self.log.get(line["partition"], {})
            for offset in range(line["first_offset"], line["next_offset"]):
                stood = [one for one in log.get(offset, ()) if one.stood_at(line["seq"]) and one.aborted]
                self.found["G1a", line["group"]] += len(stood)
        for line, first, end in self.gaps:
            if line["partition"] in self.compacted:
                continue
            log = self.log.get(line["partition"], {})
            for offset in range(first, end):
                stood = [
                    one for one in log.get(offset, ()) if one.seq < line["seq"] and not (one.cut_seq or one.aborted)
                ]
                self.found["poll-skip", line["group"]] += len(stood)


def raw_anomalies(lines: Iterable[Line]) -> Found:
    """The anomalies that a flight shows, allowed or not."""
    return {key: records for key, records in RawAnomalies(lines).found.items() if records}
