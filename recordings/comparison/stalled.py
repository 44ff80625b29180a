"""How long members hold partitions without reading them: records wait, and the owner finishes none.

A partition is stalled while it has an owner, a record that the owner may read waits behind the last one that it
finished there, and more than 5 s pass without progress. Progress is a record that the owner finishes (or skips)
in any of its partitions: it comes back to this one. To a paused partition it does not, so only its own records count.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from cluster import events as e
from cluster.protocol.client_states import MemberState
from cluster.view import ClusterView

STALLED_US: Final = 5_000_000
"""A stretch without progress counts, from its beginning, when it is longer than a default auto.commit.interval.ms.

Committed offsets show none earlier, and a shorter one may be the processing of a poll().
"""


class _Held(msgspec.Struct):
    """One group's partition. `next_offset`: behind the highest finished record since its last position was set.

    `since_us`: its last progress, or the last change of its owner or pause. `waits_since_us`: None without a record.
    """

    group: str
    partition: str
    owner: str = ""
    paused: bool = False
    next_offset: int = -1
    since_us: int = 0
    waits_since_us: int | None = None


class StalledMeter:
    """Keeps the sum for each group from events; `view` has already folded each of them."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._past_us: dict[str, int] = {}
        self._held: dict[str, dict[str, _Held]] = {}  # group → partition
        self._readers: dict[str, list[_Held]] = {}  # partition → its groups
        self._progress_us: dict[str, int] = {}  # member → its last progress

    def stalled_us(self, group: str, now_us: int) -> int:
        """Σ over the group's partitions of the time in which they are stalled, up to `now_us`."""
        held = self._held.get(group, {}).values()
        return self._past_us.get(group, 0) + sum(self._stretch_us(one, now_us) for one in held)

    def handlers(self) -> dict[type[e.Event], Callable[[Any], None]]:
        """Kind of event → what to do with it."""
        return {
            e.HighWatermarkAdvanced: self._high_watermark_advanced,
            e.LeadershipTaken: self._log_changed,
            e.LogTruncated: self._log_changed,
            e.RecordsProcessed: self._records_processed,
            e.RecordSkipped: self._record_skipped,
            e.PositionsMovedOn: self._positions_moved_on,
            e.PositionsReset: self._positions_reset,
            e.PartitionsAssigned: self._partitions_changed,
            e.PartitionsRevoked: self._partitions_changed,
            e.MemberStopped: self._member_stopped,
            e.MemberStateChanged: self._member_state_changed,
            e.PartitionsPaused: self._pause_changed,
            e.PartitionsResumed: self._pause_changed,
        }

    # --- stretches ----------------------------------------------------------------------------------------------------

    def _stretch_us(self, held: _Held, now_us: int) -> int:
        """How long the partition has been stalled by now."""
        if held.waits_since_us is None:
            return 0
        start_us = max(held.waits_since_us, held.since_us)
        if not held.paused:
            start_us = max(start_us, self._progress_us.get(held.owner, 0))
        return now_us - start_us if now_us - start_us > STALLED_US else 0

    def _settle(self, held: _Held, at_us: int) -> None:
        """End a stretch: the caller moves its beginning on."""
        stretch_us = self._stretch_us(held, at_us)
        if stretch_us:
            self._past_us[held.group] = self._past_us.get(held.group, 0) + stretch_us

    def _look(self, held: _Held, at_us: int) -> None:
        """Whether a record waits for the owner now."""
        waits = False
        if held.owner and held.next_offset >= 0:
            partition = self._view.partitions[held.partition]
            stable = self._view.groups[held.group].read_committed
            waits = held.next_offset < (partition.last_stable_offset if stable else partition.high_watermark)
        if not waits:
            self._settle(held, at_us)
            held.waits_since_us = None
        elif held.waits_since_us is None:
            held.waits_since_us = at_us

    # --- records ------------------------------------------------------------------------------------------------------

    def _high_watermark_advanced(self, event: e.HighWatermarkAdvanced) -> None:
        for held in self._readers.get(event.partition, ()):
            if held.waits_since_us is None:
                self._look(held, event.at_us)

    def _log_changed(self, event: e.LeadershipTaken | e.LogTruncated) -> None:
        for held in self._readers.get(event.partition, ()):
            self._look(held, event.at_us)

    def _records_processed(self, event: e.RecordsProcessed) -> None:
        self._progress(event.group, event.member, event.partition, event.next_offset, event.at_us)

    def _record_skipped(self, event: e.RecordSkipped) -> None:
        self._progress(event.group, event.member, event.partition, event.offset + 1, event.at_us)

    def _positions_moved_on(self, event: e.PositionsMovedOn) -> None:
        for name, position in event.positions.items():
            self._progress(event.group, event.member, name, position, event.at_us)

    def _progress(self, group: str, member: str, name: str, next_offset: int, at_us: int) -> None:
        held = self._of(group, name)
        if at_us - self._progress_us.get(member, 0) > STALLED_US:
            for other in self._held[group].values():
                if other.owner == member and not other.paused:
                    self._settle(other, at_us)
        if held.owner == member and held.paused:
            self._settle(held, at_us)
        self._progress_us[member] = at_us
        if held.owner == member:
            held.since_us = at_us
            held.next_offset = max(held.next_offset, next_offset)
            self._look(held, at_us)

    # --- owners -------------------------------------------------------------------------------------------------------

    def _of(self, group: str, name: str) -> _Held:
        held = self._held.setdefault(group, {}).get(name)
        if held is None:
            held = self._held[group][name] = _Held(group, name)
            self._readers.setdefault(name, []).append(held)
        return held

    def _positions_reset(self, event: e.PositionsReset) -> None:
        """A member has positions: its records wait from there on."""
        for name, offset in event.positions.items():
            held = self._of(event.group, name)
            if held.owner == event.member:
                held.next_offset = offset
                self._look(held, event.at_us)

    def _partitions_changed(self, event: e.PartitionsAssigned | e.PartitionsRevoked) -> None:
        """Partitions have another owner, or none."""
        self._owners_changed(event.group, event.partitions, event.at_us)

    def _member_stopped(self, event: e.MemberStopped) -> None:
        """A process ends: it owns nothing any more."""
        self._owners_changed(event.group, tuple(self._held.get(event.group, ())), event.at_us)

    def _member_state_changed(self, event: e.MemberStateChanged) -> None:
        """A fenced member keeps its partitions until close(), and no longer reads them."""
        if event.state == MemberState.FENCED:
            self._owners_changed(event.group, tuple(self._held.get(event.group, ())), event.at_us)

    def _owners_changed(self, group: str, names: tuple[str, ...], at_us: int) -> None:
        owners = self._view.groups[group].owners
        for name in names:
            held, owner = self._of(group, name), owners.get(name, "")
            if owner != held.owner:
                self._settle(held, at_us)
                held.owner, held.since_us, held.waits_since_us = owner, at_us, None
                held.paused = bool(owner) and name in self._view.members[owner].paused_partitions
                self._look(held, at_us)

    def _pause_changed(self, event: e.PartitionsPaused | e.PartitionsResumed) -> None:
        for name in event.partitions:
            held = self._of(event.group, name)
            paused = isinstance(event, e.PartitionsPaused)
            if held.owner == event.member and held.paused != paused:
                self._settle(held, event.at_us)
                held.paused, held.since_us = paused, event.at_us
