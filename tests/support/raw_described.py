"""What Kafka's tools must print of a flight, from the raw lines of its journal: no event class, no view."""

import re
from collections.abc import Iterable
from typing import Any

Line = dict[str, Any]


class RawLog:
    """A partition: who leads it, how far it is committed, and the batches that its leader's log has."""

    def __init__(self) -> None:
        self.leader = -1
        self.replicas: list[int] = []
        self.isr: list[int] = []
        self.epoch, self.taken_by, self.high_watermark = -1, -1, 0
        self.batches: list[Line] = []

    def keep_below(self, end: int) -> None:
        """Lose what lies at or behind an offset."""
        self.batches = [one for one in self.batches if one["base_offset"] < end]

    def last_stable_offset(self) -> int:
        """The first offset of the first transaction that is open below the high watermark; else that itself."""
        starts = [start for *_, start in self.producers(self.high_watermark).values()]
        return min([self.high_watermark, *(start for start in starts if start >= 0)])

    def producers(self, below: float = float("inf")) -> dict[int, tuple[int, int, int, int]]:
        """Producer id → epoch, last sequence (-1: none), ms of its last batch, first offset of its open transaction."""
        found: dict[int, tuple[int, int, int, int]] = {}
        for one in [one for one in self.batches if one["base_offset"] < below]:
            epoch, sequence, _, start = found.get(one["producer_id"], (-1, -1, 0, -1))
            if one.get("marker"):
                sequence = sequence if epoch == one["epoch"] else -1
                start = -1
            else:
                sequence = (one["base_sequence"] + one["count"] - 1) % 2**31
                if one.get("transactional") and start < 0:
                    start = one["base_offset"]
            found[one["producer_id"]] = one["epoch"], sequence, one["at_us"] // 1_000, start
        return found


class RawGroup:
    """A group: its state, and the partitions and offsets of its coordinator."""

    def __init__(self, *, read_committed: bool = False) -> None:
        self.state, self.read_committed = "", read_committed
        self.members: dict[str, str] = {}
        self.assigned: dict[str, list[str]] = {}
        self.committed: dict[str, int] = {}


class RawDescribed:
    """Reads lines one after the other.

    `held`: (process, partition) → position and end of what it holds, records, bytes, broker, ms; `at`: their positions.
    """

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], tuple[int, ...]] = {}
        self.at: dict[tuple[str, str], int] = {}
        self.logs: dict[str, RawLog] = {}
        self.groups: dict[str, RawGroup] = {}
        self.topics: dict[str, int] = {}
        self.transactions: dict[str, Line] = {}
        self.answering: dict[int, bool] = {}  # broker → whether it runs and is not frozen
        self._followers: dict[tuple[str, str], int] = {}

    def read(self, lines: Iterable[Line]) -> None:
        """Read lines whose kinds are told here; all others change nothing."""
        for line in lines:
            reader = getattr(self, f"_{line['kind']}", None)
            if reader is not None:
                reader(line)

    def _log(self, line: Line) -> RawLog:
        return self.logs.setdefault(line["partition"], RawLog())

    def _group(self, line: Line) -> RawGroup:
        return self.groups.setdefault(line["group"], RawGroup())

    # --- topics -------------------------------------------------------------------------------------------------------

    def _topic_created(self, line: Line) -> None:
        self.topics[line["topic"]] = line["partitions"]

    def _partitions_added(self, line: Line) -> None:
        self.topics[line["topic"]] = line["partitions"]

    def _leader_elected(self, line: Line) -> None:
        log = self._log(line)
        log.leader, log.replicas = line["leader"], line["replicas"]
        log.isr = _shown(log.isr, line["isr"], hashed=False)

    def _isr_changed(self, line: Line) -> None:
        log = self._log(line)
        log.isr = _shown(log.isr, line["isr"], hashed=not re.match(r"shrink: broker-\d", line["reason"]))

    def _leadership_taken(self, line: Line) -> None:
        log = self._log(line)
        if line["leader_epoch"] >= log.epoch:
            log.epoch, log.taken_by, log.high_watermark = line["leader_epoch"], line["broker"], line["high_watermark"]
            log.keep_below(line["log_end"])

    def _high_watermark_advanced(self, line: Line) -> None:
        log = self._log(line)
        if line.get("leader_epoch", 0) >= log.epoch:
            log.high_watermark = line["offset"]

    def _log_truncated(self, line: Line) -> None:
        log = self._log(line)
        if line["broker"] == log.taken_by:
            log.high_watermark = min(log.high_watermark, line["offset"])
            log.keep_below(line["offset"])

    def _records_appended(self, line: Line) -> None:
        log = self._log(line)
        if line["leader_epoch"] >= log.epoch and line["producer_id"] >= 0:
            log.batches.append(line)

    # --- brokers ------------------------------------------------------------------------------------------------------

    def _broker_started(self, line: Line) -> None:
        self.answering[line["broker"]] = line.get("serves", True)

    def _broker_state_changed(self, line: Line) -> None:
        if line["state"] == "Running":
            self.answering[line["broker"]] = True

    def _broker_stopped(self, line: Line) -> None:
        self.answering[line["broker"]] = False

    _broker_paused = _broker_stopped

    def _broker_resumed(self, line: Line) -> None:
        self.answering[line["broker"]] = True

    # --- processes ----------------------------------------------------------------------------------------------------

    def _records_fetched(self, line: Line) -> None:
        for name, end in line["next_offsets"].items():
            fetch = line["records"][name], line["bytes"][name], line["broker"], line["at_us"] // 1_000
            self.held[line["member"], name] = end, *fetch

    def _preferred_read_replica_changed(self, line: Line) -> None:
        self._followers[line["member"], line["partition"]] = line["broker"]

    def awaited(self, member: str, place: str, group: str, *, paused: bool) -> str:
        """What the next records of a consumer's partition wait for."""
        log, at = self.logs[place], self.at.get((member, place))
        source = self._followers.get((member, place), -1)
        source = log.leader if source < 0 else source
        held_back = self.groups[group].read_committed and at is not None and at >= log.last_stable_offset()
        reasons = {
            "resume()": paused,
            "poll()": (member, place) in self.held,
            "position": at is None,
            "leader": source < 0,
            "broker": not self.answering.get(source, False),
            "records": at is not None and at >= log.high_watermark,
            "transaction": held_back,
        }
        return next((words for words, holds in reasons.items() if holds), "fetch")

    def _fetched_records_dropped(self, line: Line) -> None:
        for name in line["partitions"]:
            del self.held[line["member"], name]

    def _poll_returned(self, line: Line) -> None:
        for name, position in line["positions"].items():
            self.at[line["member"], name] = position
            if self.held.get((line["member"], name), (position + 1,))[0] <= position:
                del self.held[line["member"], name]

    def _positions_reset(self, line: Line) -> None:
        for name, position in line["positions"].items():
            self.at[line["member"], name] = position

    _positions_moved_on = _positions_reset

    def _partitions_revoked(self, line: Line) -> None:
        for name in line["partitions"]:
            self.at.pop((line["member"], name), None)

    def _member_stopped(self, line: Line) -> None:
        for known in (self.held, self.at):
            for key in [key for key in known if key[0] == line["member"]]:
                del known[key]

    # --- groups -------------------------------------------------------------------------------------------------------

    def _group_declared(self, line: Line) -> None:
        self.groups[line["group"]] = RawGroup(read_committed=line["read_committed"])

    def _member_id_assigned(self, line: Line) -> None:
        group = self._group(line)
        if group.state in ("", "Dead"):
            group.state = "Empty"

    def _offsets_committed(self, line: Line) -> None:
        group = self._group(line)
        group.committed |= line["offsets"]
        if group.state in ("", "Dead"):
            group.state = "Empty"

    def _offsets_expired(self, line: Line) -> None:
        for name in line["partitions"]:
            self._group(line).committed.pop(name, None)

    _offsets_deleted = _offsets_expired

    def _group_deleted(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.members, group.assigned, group.committed = "Dead", {}, {}, {}

    def _rebalance_started(self, line: Line) -> None:
        group = self._group(line)
        if group.state == "CompletingRebalance":
            group.assigned = {}  # what was being handed out is void
        group.state = "PreparingRebalance"

    def _join_received(self, line: Line) -> None:
        self._group(line).members[line["member_id"]] = line["member"]

    def _join_barrier_completed(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.members = "CompletingRebalance" if line["members"] else "Empty", dict(line["members"])

    def _static_member_replaced(self, line: Line) -> None:
        group = self._group(line)
        group.members.pop(line["old_member_id"], None)
        group.members[line["member_id"]] = line["member"]
        if line["old_member_id"] in group.assigned:
            group.assigned[line["member_id"]] = group.assigned.pop(line["old_member_id"])

    def _group_stabilized(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.assigned = "Stable", dict(line["assignment"])

    def _member_removed(self, line: Line) -> None:
        group = self._group(line)
        group.members.pop(line["member_id"], None)
        group.assigned.pop(line["member_id"], None)

    def _group_loaded(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.members, group.assigned = line["state"], dict(line["members"]), dict(line["assignment"])
        group.committed = dict(line.get("offsets", {}))

    def _classic_group_upgraded(self, line: Line) -> None:
        group = self._group(line)
        group.members, group.assigned = dict(line["members"]), dict(line["assigned"])

    def _consumer_group_downgraded(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.members, group.assigned = "Stable", dict(line["members"]), dict(line["assignment"])

    def _member_protocol_changed(self, line: Line) -> None:
        self._group(line).members[line["member_id"]] = line["member"]

    def _consumer_group_loaded(self, line: Line) -> None:
        group = self._group(line)
        group.state, group.members, group.assigned = line["state"], dict(line["members"]), dict(line["assigned"])
        group.committed = dict(line["offsets"])

    def _consumer_group_state_changed(self, line: Line) -> None:
        self._group(line).state = line["state"]

    def _consumer_member_subscribed(self, line: Line) -> None:
        self._group(line).members[line["member_id"]] = line["member"]

    def _member_assignment_changed(self, line: Line) -> None:
        self._group(line).assigned[line["member_id"]] = line["assigned"]

    # --- transactions -------------------------------------------------------------------------------------------------

    def _transaction_state_changed(self, line: Line) -> None:
        self.transactions[line["transactional_id"]] = line

    # --- what the tools print -----------------------------------------------------------------------------------------

    def offsets(self, name: str) -> set[tuple[str, ...]]:
        """A group's rows: topic, partition, committed, end, lag, member id, client; "-" for what is not there."""
        group = self.groups[name]
        rows = [(place, member) for member, places in group.assigned.items() for place in places]
        taken = {place for place, _ in rows}
        rows += [(place, "-") for place in group.committed if place not in taken]
        found = set()
        for place, member in rows:
            topic, _, number = place.rpartition("-")
            log, offset = self.logs[place], group.committed.get(place)
            end = log.high_watermark if log.leader >= 0 else None
            lag = "-" if end is None or offset is None else str(end - offset)
            told = ["-" if one is None else str(one) for one in (offset, end)]
            found.add((topic, number, *told, lag, member, group.members.get(member, "-")))
        return found


def _shown(before: list[int], now: list[int], *, hashed: bool) -> list[int]:
    """An ISR as tools list it: by number if it came out of a leader's hash set, else in the order that it had."""
    if before and (hashed or set(now) - set(before)):
        return sorted(now)
    return sorted(now, key=before.index) if before else now
