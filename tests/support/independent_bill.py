"""The bill of a flight from the raw lines of its journal: no event class, no view, no fold, no meter.

What records are lost is the ledger's to say, and is not recomputed here: a bill's `lost` is compared with the document,
which other tests compare with the truth.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

Line = dict[str, Any]

SECOND_US = 1_000_000
LATE_US = 1_000_000
BEHIND_US = 6_000_000
STALLED_US = 5_000_000


class _Log:
    """One partition's log as its last leader has it."""

    def __init__(self, topic: str, internal: bool) -> None:
        self.topic, self.internal = topic, internal
        self.epoch = self.taken_by = -1
        self.start = self.high_watermark = self.end = 0
        self.dates: list[tuple[int, int]] = []  # (end offset, instant of the append)
        self.open: dict[int, int] = {}  # producer id → where its transaction begins
        self.ended: list[tuple[int, int, int]] = []  # (producer id, beginning, marker) of the ended transactions
        self.leader, self.isr, self.replicas = -1, 0, 0
        self.placed = False

    def stable(self) -> int:
        """The end for readers of committed data."""
        unsure = [*self.open.values(), *(first for _, first, marker in self.ended if marker >= self.high_watermark)]
        return min([self.high_watermark, *(max(first, self.start) for first in unsure)])

    def reopen(self, end: int) -> None:
        """The log ends here now: markers and beginnings beyond are gone."""
        self.open |= {pid: first for pid, first, marker in self.ended if marker >= end}
        self.ended = [each for each in self.ended if each[2] < end]
        self.open = {pid: first for pid, first in self.open.items() if first < end}


class _Part:
    """How one group reads one partition: `states` has each change of (owner, paused, whether a record waits)."""

    def __init__(self) -> None:
        self.next = -1
        self.progress: list[int] = []
        self.states: list[tuple[int, tuple[str, bool, bool]]] = [(0, ("", False, False))]

    def stalled_us(self, now_us: int, progress: dict[str, list[int]]) -> int:
        """Σ of the stretches longer than 5 s between two steps, in each state in which a record waits."""
        total = 0
        ends = [at_us for at_us, _ in self.states[1:]] + [now_us]
        for (from_us, (owner, paused, waits)), to_us in zip(self.states, ends, strict=True):
            if waits:
                steps = self.progress if paused else progress[owner]
                cuts = [from_us, *(at for at in steps if from_us < at < to_us), to_us]
                stretches = (after - before for before, after in pairwise(cuts))
                total += sum(stretch for stretch in stretches if stretch > STALLED_US)
        return total


class _Group:
    def __init__(self, line: Line) -> None:
        self.topics: list[str] = list(line["topics"])
        self.latest = line["offset_reset"] == "latest"
        self.read_committed = line["read_committed"]
        self.parts: dict[str, _Part] = {}
        self.skipped = self.dead_lettered = 0
        self.committed: dict[str, int] = {}
        self.holders: defaultdict[str, set[str]] = defaultdict(set)
        self.reads: defaultdict[str, list[str]] = defaultdict(list)  # partition → its holders, the last one at the end
        self.unheld_since_us: dict[str, int] = {}
        self.unread_us = self.barriers = self.delivered = self.duplicated = self.reread = 0
        self.open_cause: str | None = None
        self.coordinator = self.generation = -1
        self.causes: list[str] = []
        self.closed: set[int] = set()
        self.first: dict[str, int] = {}
        self.highest: dict[str, int] = {}
        self.assigned_in: dict[str, int] = {}
        self.share: dict[str, int] = {}  # member → the generation of its partitions
        self.state = "Empty"
        self.alone: dict[str, bool] = {}  # member id → whether it has the target of the group epoch
        self.reconciles = False  # a group of the new protocol
        self.round = 0  # counts its rebalances
        self.moved_in: dict[str, int] = {}  # partition → the round that moved it, until it is read
        self.closed_rounds: set[int] = set()
        self.again: Counter[int] = Counter()  # round → records read again
        self.had: dict[str, set[str]] = {}  # partition → its holders when the last round was over
        self.lags: list[tuple[int, int]] = []  # (instant, time lag) of each sample

    def rounds(self) -> set[int]:
        """The rounds that are over, and the one under way."""
        return self.closed_rounds | ({self.round} if self.open_cause is not None else set())


class IndependentBill:
    """Takes a journal's lines one by one; `bill` compares with `recordings.comparison.bill.Bill` as plain data."""

    def __init__(self) -> None:
        self.groups: dict[str, _Group] = {}
        self.logs: dict[str, _Log] = {}
        self.of_topic: defaultdict[str, list[str]] = defaultdict(list)
        self.min_isr: dict[str, int] = {}
        self.serving: dict[int, bool] = {}
        self.frozen: set[int] = set()
        self.producers: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.passages: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)  # member → its changes
        self.held: defaultdict[str, set[str]] = defaultdict(set)  # member → partitions, also of a fenced one
        self.asleep: defaultdict[str, set[str]] = defaultdict(set)  # member → the partitions that it has paused
        self.progress: defaultdict[str, list[int]] = defaultdict(list)  # member → when it finished a record
        self.group_of: dict[str, str] = {}
        self.outage_us: Counter[str] = Counter()
        self._outages: dict[tuple[str, str], int] = {}
        self._second = -1

    def take(self, line: Line) -> None:
        kind = line["kind"]
        handler = getattr(self, f"_{kind}", None)
        if handler is not None:
            handler(line, line["at_us"])
        if line["at_us"] // SECOND_US > self._second:
            self._second = line["at_us"] // SECOND_US
            for group in self.groups.values():
                group.lags.append((line["at_us"], self._time_lag(group, line["at_us"])))

    def bill(self, now_us: int) -> Line:
        """The bill, without what only the ledger knows."""
        found: Line = {"groups": {}, "producers": {}, "cluster": {}}
        for name, group in self.groups.items():
            members = [member for member, of in self.group_of.items() if of == name]
            samples = [*group.lags, (now_us, self._time_lag(group, now_us))]
            stalled_us = sum(part.stalled_us(now_us, self.progress) for part in group.parts.values())
            unowned_us = group.unread_us + sum(now_us - at for at in group.unheld_since_us.values())
            found["groups"][name] = {
                "unread_partition_us": unowned_us + stalled_us,
                "stalled_partition_us": stalled_us,
                "stopped_member_us": sum(_stopped_us(self.passages[member], now_us) for member in members),
                "rebalances": max(0, group.barriers - 1),
                "by_cause": dict(Counter(group.causes[1:])),
                "delivered": group.delivered,
                "duplicated": group.duplicated,
                "reread": group.reread + sum(group.again[each] for each in group.rounds()),
                "skipped": group.skipped,
                "dead_lettered": group.dead_lettered,
                **_peak(samples),
            }
        for name, counts in self.producers.items():
            found["producers"][name] = {key: counts[key] for key in ("refused", "late", "failed", "retries")}
        for outage in ("leaderless", "below_min_isr"):
            open_us = sum(now_us - at for (_, what), at in self._outages.items() if what == outage)
            found["cluster"][f"{outage}_partition_us"] = self.outage_us[outage] + open_us
        return found

    # --- topics, leaders, logs ------------------------------------------------------------------------------------

    def _topic_created(self, line: Line, _: int) -> None:
        self.min_isr[line["topic"]] = line["min_insync_replicas"]
        self._place(line["topic"], line["partitions"], internal=line["internal"])

    def _partitions_added(self, line: Line, _: int) -> None:
        self._place(line["topic"], line["partitions"], internal=False)

    def _place(self, topic: str, partitions: int, *, internal: bool) -> None:
        for number in range(len(self.of_topic[topic]), partitions):
            self.of_topic[topic].append(f"{topic}-{number}")
            self.logs[f"{topic}-{number}"] = _Log(topic, internal)

    def _setting_changed(self, line: Line, at_us: int) -> None:
        if line["effect"] == "now" and line["scope"] in self.groups and line["key"] == "auto.offset.reset":
            self.groups[line["scope"]].latest = line["value"] == "latest"
        if line["key"] == "min.insync.replicas" and line["scope"] in self.min_isr:
            self.min_isr[line["scope"]] = int(line["value"])
            self._look(at_us)

    def _leader_elected(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        log.leader, log.isr, log.placed, log.replicas = line["leader"], len(line["isr"]), True, len(line["replicas"])
        self._look(at_us, line["partition"])

    def _partition_reassigned(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        log.replicas = len(line["replicas"])
        self.min_isr[log.topic] = line["min_insync_replicas"]
        self._look(at_us)

    def _isr_changed(self, line: Line, at_us: int) -> None:
        self.logs[line["partition"]].isr = len(line["isr"])
        self._look(at_us, line["partition"])

    def _broker_started(self, line: Line, at_us: int) -> None:
        self.serving[line["broker"]] = line.get("serves", True)
        self.frozen.discard(line["broker"])
        self._look(at_us)

    def _broker_state_changed(self, line: Line, at_us: int) -> None:
        self.serving[line["broker"]] = True
        self._look(at_us)

    def _broker_stopped(self, line: Line, at_us: int) -> None:
        self.serving[line["broker"]] = False
        self.frozen.discard(line["broker"])
        self._look(at_us)

    def _broker_paused(self, line: Line, at_us: int) -> None:
        self.frozen.add(line["broker"])
        self._look(at_us)

    def _broker_resumed(self, line: Line, at_us: int) -> None:
        self.frozen.discard(line["broker"])
        self._look(at_us)

    def _look(self, at_us: int, *names: str) -> None:
        """Which partitions of users' topics are in an outage now."""
        for name in names or self.logs:
            log = self.logs[name]
            if log.internal or not log.placed:
                continue
            live = self.serving.get(log.leader, False) and log.leader not in self.frozen
            below = log.leader >= 0 and log.isr < min(self.min_isr[log.topic], log.replicas)
            for outage, holds in (("leaderless", not live), ("below_min_isr", below)):
                if holds:
                    self._outages.setdefault((name, outage), at_us)
                elif (name, outage) in self._outages:
                    self.outage_us[outage] += at_us - self._outages.pop((name, outage))

    def _leadership_taken(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        if line["leader_epoch"] < log.epoch:
            return
        self._cut(line["partition"], line["log_end"])
        log.epoch, log.taken_by = line["leader_epoch"], line["broker"]
        log.start, log.high_watermark, log.end = line["log_start"], line["high_watermark"], line["log_end"]
        log.dates = [date for date in log.dates if date[0] <= log.end]
        log.reopen(log.end)
        self._read(line["partition"], at_us)

    def _records_appended(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        if line["leader_epoch"] >= log.epoch:
            log.end = line["base_offset"] + line["count"]
            log.dates.append((log.end, at_us))
            if line.get("marker"):
                first = log.open.pop(line["producer_id"], None)
                log.ended += [] if first is None else [(line["producer_id"], first, line["base_offset"])]
            elif line.get("transactional"):
                log.open.setdefault(line["producer_id"], line["base_offset"])

    def _high_watermark_advanced(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        if line["leader_epoch"] >= log.epoch:
            log.high_watermark = line["offset"]
            self._read(line["partition"], at_us)

    def _log_truncated(self, line: Line, at_us: int) -> None:
        log = self.logs[line["partition"]]
        if line["broker"] == log.taken_by:
            self._cut(line["partition"], line["offset"])
            log.high_watermark, log.end = min(log.high_watermark, line["offset"]), line["offset"]
            log.reopen(log.end)
            self._read(line["partition"], at_us)

    def _cut(self, name: str, offset: int) -> None:
        for group in self.groups.values():
            if name in group.first and group.first[name] <= self.logs[name].end:
                group.first[name] = min(group.first[name], offset)

    def _log_start_advanced(self, line: Line, _: int) -> None:
        log = self.logs[line["partition"]]
        if line["leader_epoch"] >= log.epoch:
            log.start = line["log_start"]

    def _time_lag(self, group: _Group, now_us: int) -> int:
        ages = [0]
        for name in (name for topic in group.topics for name in self.of_topic[topic]):
            log = self.logs[name]
            start = log.high_watermark if group.latest else log.start
            offset = max(group.committed.get(name, start), log.start)
            place = bisect_right(log.dates, offset, key=lambda date: date[0])
            if offset < log.high_watermark and place < len(log.dates):
                ages.append(now_us - log.dates[place][1])
        return max(ages)

    # --- groups ---------------------------------------------------------------------------------------------------

    def _group_declared(self, line: Line, _: int) -> None:
        self.groups[line["group"]] = _Group(line)

    def _group_protocol_declared(self, line: Line, _: int) -> None:
        self.groups[line["group"]].reconciles = line["protocol"] == "consumer"

    def _group_protocol_converted(self, line: Line, at_us: int) -> None:
        """An empty group is one of the other protocol from now on: its generations begin anew."""
        self._converted(line, at_us)
        self.groups[line["group"]].share.clear()

    def _converted(self, line: Line, at_us: int) -> None:
        """A rebalance of the former protocol never ends."""
        self._group_protocol_declared(line, at_us)
        self.groups[line["group"]].open_cause = None

    def _classic_group_upgraded(self, line: Line, at_us: int) -> None:
        self._converted(line | {"protocol": "consumer"}, at_us)
        group = self.groups[line["group"]]
        group.generation, group.alone = line["epoch"], dict.fromkeys(line["members"], False)
        named = {line["members"][member_id]: names for member_id, names in line["assigned"].items()}
        group.had = {name: {member} for member, names in named.items() for name in names}

    def _consumer_group_downgraded(self, line: Line, at_us: int) -> None:
        self._converted(line | {"protocol": "classic"}, at_us)

    def _member_declared(self, line: Line, _: int) -> None:
        self.group_of[line["member"]] = line["group"]

    def _subscription_changed(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.topics += [topic for topic in line["topics"] if topic not in group.topics]

    def _topic_regex_resolved(self, line: Line, at_us: int) -> None:
        self._subscription_changed(line, at_us)

    def _rebalance_started(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.coordinator = line["broker"]
        if group.open_cause is None:
            group.open_cause = line["cause"]
            group.round += 1

    def _join_barrier_completed(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.barriers += 1
        group.generation = line["generation"]
        if not line["members"]:
            self._over(group)

    def _group_stabilized(self, line: Line, _: int) -> None:
        self._over(self.groups[line["group"]])

    def _consumer_group_epoch_bumped(self, line: Line, at_us: int) -> None:
        self._rebalance_started(line, at_us)
        self.groups[line["group"]].generation = line["epoch"]

    def _target_assignment_computed(self, line: Line, _: int) -> None:
        self.groups[line["group"]].barriers += 1

    def _member_assignment_changed(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.alone[line["member_id"]] = line["state"] == "STABLE" and line["epoch"] == group.generation
        if len(group.alone) == 1 and all(group.alone.values()) and group.state == "Stable":
            self._over(group)  # its only member has the next target at once

    def _consumer_group_state_changed(self, line: Line, _: int) -> None:
        self.groups[line["group"]].state = line["state"]
        if line["state"] in {"Stable", "Empty", "Dead"}:
            self._over(self.groups[line["group"]])

    def _consumer_group_loaded(self, line: Line, at_us: int) -> None:
        group = self.groups[line["group"]]
        cause = None if line["state"] in {"Stable", "Empty", "Dead"} else group.open_cause
        self._group_loaded(line | {"generation": line["group_epoch"]}, at_us)
        group.state, group.alone = line["state"], dict.fromkeys(line["members"], False)
        group.open_cause = cause  # members go on giving up and taking over under the next coordinator

    def _over(self, group: _Group) -> None:
        if group.open_cause is not None:
            group.causes.append(group.open_cause)
            group.closed.add(group.generation)
            group.open_cause = None
            group.closed_rounds.add(group.round)
            group.had = {name: set(holders) for name, holders in group.holders.items()}

    def _group_loaded(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.coordinator, group.generation, group.open_cause = line["broker"], line["generation"], None
        group.committed = dict(line.get("offsets", {}))

    def _group_unloaded(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        if group.coordinator in {-1, line["broker"]} and not group.reconciles:
            group.open_cause = None

    def _group_deleted(self, line: Line, _: int) -> None:
        group = self.groups[line["group"]]
        group.open_cause, group.committed, group.generation = None, {}, 0
        group.share.clear()

    def _offsets_committed(self, line: Line, _: int) -> None:
        self.groups[line["group"]].committed |= line["offsets"]

    def _offsets_expired(self, line: Line, _: int) -> None:
        for name in line["partitions"]:
            self.groups[line["group"]].committed.pop(name, None)

    _offsets_deleted = _offsets_expired

    def _member_removed(self, line: Line, _: int) -> None:
        self.groups[line["group"]].alone.pop(line["member_id"], None)

    def _static_member_replaced(self, line: Line, _: int) -> None:
        self.groups[line["group"]].alone.pop(line["old_member_id"], None)
        if line["goes_on"]:
            group = self.groups[line["group"]]
            group.share[line["member"]] = group.generation

    # --- what waits for a member ----------------------------------------------------------------------------------

    def _read(self, name: str, at_us: int) -> None:
        """Note who holds a partition now, and whether a record waits."""
        for group in self.groups.values():
            if name in group.parts:
                part, log, owner = (
                    group.parts[name],
                    self.logs[name],
                    group.reads[name][-1] if group.reads[name] else "",
                )
                end = log.stable() if group.read_committed else log.high_watermark
                state = owner, name in self.asleep[owner], bool(owner) and 0 <= part.next < end
                if part.states[-1][1] != state:
                    part.states.append((at_us, state))

    def _step(self, line: Line, name: str, offset: int, at_us: int) -> None:
        """A member has finished, or passed, the records of a partition up to an offset."""
        member, group = line["member"], self.groups[line["group"]]
        self.progress[member].append(at_us)
        part = group.parts.setdefault(name, _Part())
        if group.reads[name][-1:] == [member]:
            part.progress.append(at_us)
            part.next = max(part.next, offset)
            self._read(name, at_us)

    def _partitions_paused(self, line: Line, at_us: int) -> None:
        self.asleep[line["member"]].update(line["partitions"])
        for name in line["partitions"]:
            self._read(name, at_us)

    def _partitions_resumed(self, line: Line, at_us: int) -> None:
        self.asleep[line["member"]].difference_update(line["partitions"])
        for name in line["partitions"]:
            self._read(name, at_us)

    def _record_skipped(self, line: Line, at_us: int) -> None:
        self.groups[line["group"]].skipped += 1
        self._step(line, line["partition"], line["offset"] + 1, at_us)

    def _record_dead_lettered(self, line: Line, _: int) -> None:
        self.groups[line["group"]].dead_lettered += 1

    # --- members --------------------------------------------------------------------------------------------------

    def _partitions_assigned(self, line: Line, at_us: int) -> None:
        group, member = self.groups[line["group"]], line["member"]
        self.held[member].update(line["partitions"])
        for name in line["partitions"]:
            group.holders[name].add(member)
            group.reads[name] = [*(other for other in group.reads[name] if other != member), member]
            group.unread_us += at_us - group.unheld_since_us.pop(name, at_us)
            group.parts.setdefault(name, _Part())
            self._read(name, at_us)
        self.passages[member].append((at_us, "assigned" if self.held[member] else "idle"))
        for name in line["partitions"]:
            (group.assigned_in if group.reconciles else group.moved_in).pop(name, None)
        if group.reconciles:
            self._moved(group, member, line["partitions"])
        elif group.share.get(member) != line["generation"]:
            group.share[member] = line["generation"]
            group.assigned_in |= dict.fromkeys(line["partitions"], line["generation"])

    def _moved(self, group: _Group, member: str, names: Iterable[str]) -> None:
        for name in names:
            if group.open_cause is not None or member not in group.had.setdefault(name, set()):
                group.moved_in[name] = group.round
                group.had.setdefault(name, set()).add(member)

    def _partitions_revoked(self, line: Line, at_us: int) -> None:
        member = line["member"]
        self.held[member].difference_update(line["partitions"])
        self._let_go(line["group"], member, line["partitions"], at_us)
        self.passages[member].append((at_us, "revoked" if self.held[member] else "empty"))

    def _let_go(self, group_name: str, member: str, names: Iterable[str], at_us: int) -> None:
        group = self.groups[group_name]
        for name in names:
            if member in group.holders[name]:
                group.holders[name].discard(member)
                group.reads[name].remove(member)
                self.asleep[member].discard(name)
                self._read(name, at_us)
                if not group.holders[name]:
                    group.unheld_since_us[name] = at_us

    def _member_started(self, line: Line, at_us: int) -> None:
        self.asleep[line["member"]].clear()
        self.passages[line["member"]].append((at_us, "started"))

    def _member_stopped(self, line: Line, at_us: int) -> None:
        member = line["member"]
        self._let_go(line["group"], member, tuple(self.held[member]), at_us)
        self.held[member].clear()
        self.passages[member].append((at_us, "ended"))

    def _member_state_changed(self, line: Line, at_us: int) -> None:
        if line["state"] == "Fenced":
            self._let_go(line["group"], line["member"], tuple(self.held[line["member"]]), at_us)
        if line["state"] == "Joining":
            self.passages[line["member"]].append((at_us, "joins"))

    def _positions_reset(self, line: Line, at_us: int) -> None:
        group = self.groups[line["group"]]
        self.passages[line["member"]].append((at_us, "reads"))
        for name, offset in line["positions"].items():
            if group.first.get(name, -1) < 0 or group.first[name] > self.logs[name].end:
                group.first[name] = group.highest[name] = offset
            elif line["reason"] == "truncated":
                group.highest[name] = offset
            if group.reads[name][-1:] == [line["member"]]:
                group.parts[name].next = offset
                self._read(name, at_us)
            generation = group.assigned_in.pop(name, None)
            if generation in group.closed:
                group.reread += max(0, group.highest[name] - offset)
            group.again[group.moved_in.pop(name, -1)] += max(0, group.highest[name] - offset)

    def _poll_returned(self, line: Line, _: int) -> None:
        highest = self.groups[line["group"]].highest
        for name, offset in line["positions"].items():
            highest[name] = max(highest.get(name, -1), offset)

    def _positions_moved_on(self, line: Line, at_us: int) -> None:
        self._poll_returned(line, at_us)
        for name, offset in line["positions"].items():
            self._step(line, name, offset, at_us)

    def _records_processed(self, line: Line, at_us: int) -> None:
        self._step(line, line["partition"], line["next_offset"], at_us)
        group = self.groups[line["group"]]
        group.duplicated += line["repeated"]
        group.delivered += line["next_offset"] - line["first_offset"] - line["repeated"]

    # --- producers ------------------------------------------------------------------------------------------------

    def _producer_declared(self, line: Line, _: int) -> None:
        self.producers[line["producer"]].update()

    def _produce_sent(self, line: Line, _: int) -> None:
        self.producers[line["producer"]]["retries"] += len(line["retried"])

    def _batch_acknowledged(self, line: Line, _: int) -> None:
        self.producers[line["producer"]]["late"] += line["records"] if line["latency_us"] > LATE_US else 0

    def _batch_retried(self, line: Line, _: int) -> None:
        self.producers[line["producer"]]["refused"] += line.get("disconnected_from", -1) < 0

    def _batch_split(self, line: Line, _: int) -> None:
        self.producers[line["producer"]]["refused"] += 1

    def _batch_failed(self, line: Line, _: int) -> None:
        counts = self.producers[line["producer"]]
        counts["failed"] += line["records"]
        answered = line["sent"] and line.get("disconnected_from", -1) < 0
        counts["refused"] += answered and line["error"].isupper()

    def _send_refused(self, line: Line, _: int) -> None:
        self.producers[line["producer"]]["failed"] += line["records"]


def _stopped_us(passages: list[tuple[int, str]], now_us: int) -> int:
    """Σ of the stretches from an empty-handed revocation to reading, idling or ending, if the member joins in them."""
    total = 0
    read = joined = False
    since: int | None = None
    for at_us, what in [*passages, (now_us, "now")]:
        if what == "empty" and read and since is None:
            since, joined = at_us, False
        elif what == "joins":
            joined = True
        elif what in {"reads", "idle", "ended", "now"} and since is not None:
            total += at_us - since if joined else 0
            since = None
        if what == "started":
            read, since = False, None
        read = (read or what == "reads") and what != "ended"
    return total


def _peak(samples: list[tuple[int, int]]) -> Line:
    """The first largest sample, and Σ of the steps that begin with a large time lag."""
    peak_at_us, peak_us = max(samples, key=lambda sample: sample[1]) if samples else (0, 0)
    steps = pairwise(samples)
    return {
        "peak_time_lag_us": peak_us,
        "peak_at_us": peak_at_us if peak_us else 0,
        "behind_us": sum(until_us - at_us for (at_us, lag_us), (until_us, _) in steps if lag_us > BEHIND_US),
    }
