"""From lines of group coordinators to events of the kinds that a flight has.

What a line does not tell stays unknown: -1 for a number or an instant, "" or `unknown` for a name, nothing for an
assignment. A rebalance becomes Stable when the coordinator has received the assignment: of when it is stored, which is
some milliseconds later, no line tells.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from cluster import events as e
from cluster.events import Event
from cluster.protocol.rebalance_causes import BarrierExtension, RebalanceCause
from cluster.view.logged.state import UNKNOWN
from recordings.log_reading.groups import ReadGroup, cause_of_leaving, client_of, unsynced
from recordings.log_reading.other_lines import OTHER_FACTS
from recordings.log_reading.replica_lines import FetchersTruncations, KnownOfPartitions
from recordings.log_reading.sentences import Said, said_by
from recordings.log_reading.writers import CONSUMER, COORDINATORS, FETCHER, LIBRDKAFKA, LOG, PRODUCER, LogLine

ADJACENT_US: Final = 100_000
"""How long after the line of a member's change a group epoch may rise because of it (µs)."""

SENTENCES_KEPT: Final = 1_000
_NUMBERS = re.compile(r"\d+")
Made = Iterator[Event]


class GroupLogReader:
    """Reads lines in their order.

    `unmatched` counts coordinators' lines that it did not know, by sentence, numbers as `#`; `passed_over` those of
    others by their writer: most of these are of what is not read. `matched`, `others`: the lines of both that were.
    """

    def __init__(self) -> None:
        self.groups: dict[str, ReadGroup] = {}
        self.matched = self.others = 0
        self.passed_over: Counter[str] = Counter()
        self.unmatched: Counter[str] = Counter()
        self._replaced: dict[str, e.StaticMemberReplaced] = {}
        self._replacements = 0
        self._groups_of_clients: dict[str, str] = {}
        self._producers: set[tuple[str, str]] = set()
        self._known = KnownOfPartitions()
        self._truncations = FetchersTruncations()

    def read(self, lines: Iterable[LogLine]) -> Iterator[tuple[int, Event]]:
        """The events of the lines with their instants (µs, as in the lines), not yet numbered."""
        at_us = 0
        for line in lines:
            at_us = line.at_us
            for event in self._events(line):
                yield at_us, event
        for partition in list(self._replaced):
            for event in self._settled(partition, goes_on=False):
                yield at_us, event

    def _events(self, line: LogLine) -> Made:
        said = said_by(line.writer, line.message)
        if line.writer not in COORDINATORS:
            yield from self._of_others(line, said)
            return
        thread = line.partition or f"broker {line.broker}"
        yield from self._settled(thread, goes_on=said is not None and said.fact == "static_member_goes_on")
        if said is None:
            words = _NUMBERS.sub("#", line.message)[:200]
            self.unmatched[words if words in self.unmatched or len(self.unmatched) < SENTENCES_KEPT else "…"] += 1
            return
        self.matched += 1
        if said.fact in NO_EVENT:
            return
        name = said.words["group"]
        partition = line.partition or said.words.get("partition", "")
        yield from self._declared(name, line.broker, partition)
        group = self.groups[name]
        group.broker, group.partition = line.broker, partition or group.partition
        if said.fact == "static_member_replaced":
            self._hold(group, said, thread)
        else:
            yield from FACTS[said.fact](group, said, line.at_us)

    def _of_others(self, line: LogLine, said: Said | None) -> Made:
        """The events of a line of any other writer."""
        if said is None:
            self.passed_over[line.writer] += 1
            return
        if line.writer == LIBRDKAFKA:  # not each of its lines names the group
            (client,) = line.names
            group = self._groups_of_clients[client] = said.words.get("group") or self._groups_of_clients.get(client, "")
            if not group:
                self.passed_over[line.writer] += 1
                return
            line = line._replace(names=(client, group))
        self.others += 1
        if line.writer in {CONSUMER, LIBRDKAFKA}:
            yield from self._declared(line.names[1], -1, "")
        elif line.writer == PRODUCER:
            yield from self._declared_producer(*line.names)
        elif line.writer == FETCHER:
            self._truncations.announce(line, said)
        elif line.writer == LOG:
            line = self._truncations.of_broker(line, said)
        for event in OTHER_FACTS[said.fact](line, said):
            if self._known.is_new(event):
                yield event

    def _declared(self, group: str, broker: int, partition: str) -> Made:
        if group not in self.groups:
            self.groups[group] = ReadGroup(broker, partition)
            yield e.GroupDeclared(
                group=group, topics=(), assignors=(), offset_reset=UNKNOWN, read_committed=False,
                coordinator_partition=partition,
            )  # fmt: skip

    def _declared_producer(self, producer: str, transactional_id: str) -> Made:
        if (producer, transactional_id) not in self._producers:
            self._producers.add((producer, transactional_id))
            yield e.ProducerDeclared(
                producer=producer, topics=(), rate_per_second=-1.0, transactional_id=transactional_id
            )

    def _hold(self, group: ReadGroup, said: Said, thread: str) -> None:
        """Keep a replacement until the coordinator's next line, which tells whether the group goes on."""
        self._replacements += 1
        old, instance = said.words["id"], said.words["instance"]
        member_id = f"{UNKNOWN} id {self._replacements} of {instance}"
        group.members.pop(old, None)
        group.members[member_id] = instance
        event = e.StaticMemberReplaced(
            group=said.words["group"], member=instance, old_member_id=old, member_id=member_id,
            session_deadline_us=-1,
        )  # fmt: skip
        self._replaced[thread] = event

    def _settled(self, partition: str, *, goes_on: bool) -> Made:
        held = self._replaced.pop(partition, None)
        if held is not None:
            yield replace(held, goes_on=goes_on)


def _member_id_assigned(group: ReadGroup, said: Said, _at_us: int) -> Made:
    member_id = said.words["id"]
    group.first = member_id if said.words["state"] == "Empty" else group.first
    yield e.MemberIdAssigned(
        group=said.words["group"], member=client_of(member_id), member_id=member_id, broker=group.broker
    )


def _member_joins(group: ReadGroup, said: Said, _at_us: int) -> Made:
    yield _joined(group, said.words["group"], said.words["id"], said.words["state"])


def _joined(group: ReadGroup, name: str, member_id: str, state: str) -> e.JoinReceived:
    group.members[member_id] = client_of(member_id)
    group.first = member_id if state == "Empty" else ""
    return e.JoinReceived(
        group=name, member=client_of(member_id), member_id=member_id, newcomer=True,
        session_timeout_ms=-1, rebalance_timeout_ms=-1,
    )  # fmt: skip


def _rebalance_started(group: ReadGroup, said: Said, at_us: int) -> Made:
    name, detail = said.words["group"], said.words["detail"]
    if group.consumer:  # its last line before the one that says so
        yield from _consumer_group_downgraded(group, said, at_us)
    cause, member_id = group.cause_of(detail)
    if detail.startswith("Downgrade group ") and 0 <= at_us - group.change[0] <= ADJACENT_US:
        _, cause, member_id = group.change  # the departure that left classic members only
    group.change = -1, "", ""
    group.left_for.clear()
    for one in unsynced(detail):
        yield _removed(group, name, one, cause)
    if cause == RebalanceCause.MEMBER_JOINED and member_id not in group.members:  # no line of its own in 3.x
        yield _joined(group, name, member_id, "Empty" if group.first == member_id else UNKNOWN)
    first = bool(member_id) and group.first == member_id
    yield e.RebalanceStarted(
        group=name, generation=int(said.words["generation"]), cause=cause, trigger=client_of(member_id), initial=first,
        closes_at_us=-1, broker=group.broker, member_id=member_id, detail=detail,
    )  # fmt: skip
    group.first = ""


def _no_rejoin(_group: ReadGroup, said: Said, _at_us: int) -> Made:
    yield e.JoinBarrierExtended(group=said.words["group"], closes_at_us=-1, reason=BarrierExtension.NO_REJOIN)


def _members_absent(group: ReadGroup, said: Said, _at_us: int) -> Made:
    for member_id in filter(None, said.words["ids"].split(", ")):
        yield _removed(group, said.words["group"], member_id, RebalanceCause.POLL_INTERVAL_EXCEEDED)


def _barrier_completed(group: ReadGroup, said: Said, _at_us: int) -> Made:
    members = group.counted(int(said.words.get("members", "0")))
    group.generation = int(said.words["generation"])
    yield e.JoinBarrierCompleted(
        group=said.words["group"], generation=int(said.words["generation"]), protocol="", leader="", members=members,
        session_deadlines_us={}, last_joined="", waited_us=-1,
    )  # fmt: skip


def _assignment_received(group: ReadGroup, said: Said, _at_us: int) -> Made:
    name, leader = said.words["group"], said.words["id"]
    group.generation, group.consumer = int(said.words["generation"]), False
    yield e.SyncReceived(group=name, member=group.members.get(leader, client_of(leader)), member_id=leader, leader=True)
    yield e.GroupStabilized(
        group=name, generation=int(said.words["generation"]), assignment={}, session_deadlines_us={}
    )


def _removed(group: ReadGroup, name: str, member_id: str, reason: str, client_reason: str = "") -> e.MemberRemoved:
    member = group.members.pop(member_id, client_of(member_id))
    group.reconciled.discard(member_id)
    return e.MemberRemoved(group=name, member=member, member_id=member_id, reason=reason, client_reason=client_reason)


def _session_expired(group: ReadGroup, said: Said, _at_us: int) -> Made:
    yield _removed(group, said.words["group"], said.words["id"], RebalanceCause.SESSION_EXPIRED)


def _member_left(group: ReadGroup, said: Said, _at_us: int) -> Made:
    cause = cause_of_leaving(said.words["reason"])
    group.left_for[said.words["id"]] = cause
    yield _removed(group, said.words["group"], said.words["id"], cause, said.words["reason"])


def _classic_group_loaded(group: ReadGroup, said: Said, _at_us: int) -> Made:
    members = group.counted(int(said.words["members"]))
    group.consumer, group.generation = False, -1
    group.reconciled.clear()
    yield e.GroupLoaded(
        group=said.words["group"], broker=group.broker, state=UNKNOWN if members else "Empty", generation=-1,
        protocol="", leader="", members=members, assignment={}, session_deadlines_us={},
    )  # fmt: skip


def _group_unloaded(group: ReadGroup, said: Said, _at_us: int) -> Made:
    yield e.GroupUnloaded(group=said.words["group"], broker=group.broker)


def _consumer_member_joins(group: ReadGroup, said: Said, at_us: int) -> Made:
    name, member_id = said.words["group"], said.words["id"]
    group.members[member_id] = said.words["instance"] or client_of(member_id)
    group.change = at_us, RebalanceCause.MEMBER_JOINED, member_id
    group.consumer = True
    group.reconciled.add(member_id)
    yield e.ConsumerMemberSubscribed(
        group=name, member=group.members[member_id], member_id=member_id, instance_id=said.words["instance"], epoch=0,
        topics=(), topic_regex="", assignor="", rebalance_timeout_ms=-1,
    )  # fmt: skip
    if said.words["protocol"] == "classic":
        yield e.MemberProtocolChanged(
            group=name, member=group.members[member_id], member_id=member_id, protocol="classic"
        )


def _consumer_member_replaced(group: ReadGroup, said: Said, _at_us: int) -> Made:
    group.members.pop(said.words["old"], None)
    group.members[said.words["id"]] = said.words["instance"]
    group.change = -1, "", ""
    if said.words["old"] in group.reconciled:
        group.reconciled.remove(said.words["old"])
        group.reconciled.add(said.words["id"])
    yield e.StaticMemberReplaced(
        group=said.words["group"], member=said.words["instance"], old_member_id=said.words["old"],
        member_id=said.words["id"], session_deadline_us=-1,
    )  # fmt: skip


def _consumer_member_left_for_a_time(group: ReadGroup, said: Said, _at_us: int) -> Made:
    if said.words["id"] not in group.reconciled:  # the log began after it joined
        return
    yield e.StaticMemberLeft(
        group=said.words["group"], member=said.words["instance"], member_id=said.words["id"],
        instance_id=said.words["instance"], session_deadline_us=-1,
    )  # fmt: skip


def _consumer_removal(cause: str) -> Callable[[ReadGroup, Said, int], Made]:
    """The handler of a line that removes a member of a consumer group for this cause."""

    def handle(group: ReadGroup, said: Said, at_us: int) -> Made:
        reason = said.words.get("reason", "")
        known_cause = cause_of_leaving(reason) if reason else cause
        group.change = at_us, known_cause, said.words["id"]
        yield _removed(group, said.words["group"], said.words["id"], known_cause, reason)

    return handle


def _epoch_bumped(group: ReadGroup, said: Said, at_us: int) -> Made:
    changed_us, cause, member_id = group.change
    group.change = -1, "", ""
    group.generation, group.consumer = int(said.words["generation"]), True
    if changed_us < 0 or at_us - changed_us > ADJACENT_US:
        cause, member_id = UNKNOWN, ""
    ids = (member_id,) if member_id else ()
    yield e.ConsumerGroupEpochBumped(
        group=said.words["group"], epoch=int(said.words["generation"]), cause=cause, broker=group.broker,
        metadata_hash=int(said.words["hash"]), members=tuple(group.members.get(one, client_of(one)) for one in ids),
        member_ids=ids,
    )  # fmt: skip


def _expressions_resolved(group: ReadGroup, _said: Said, _at_us: int) -> Made:
    """What raises the group epoch next may be a topic that an expression matches now: no line tells."""
    group.change = -1, "", ""
    return iter(())


def _target_computed(_group: ReadGroup, said: Said, _at_us: int) -> Made:
    yield e.TargetAssignmentComputed(
        group=said.words["group"], epoch=int(said.words["generation"]), assignor=said.words["assignor"], target={}
    )


def _consumer_group_loaded(group: ReadGroup, said: Said, _at_us: int) -> Made:
    members = group.counted(int(said.words["members"]))
    group.consumer, group.reconciled = True, set(members)
    yield e.ConsumerGroupLoaded(
        group=said.words["group"], broker=group.broker, state=UNKNOWN if members else "Empty", group_epoch=-1,
        assignment_epoch=-1, assignor="", members=members, states=dict.fromkeys(members, UNKNOWN),
        epochs=dict.fromkeys(members, -1), previous_epochs=dict.fromkeys(members, -1),
        assigned=dict.fromkeys(members, ()), pending_revocation=dict.fromkeys(members, ()),
        target=dict.fromkeys(members, ()), fenced_at_us={}, session_deadlines_us={}, offsets={},
    )  # fmt: skip


def _classic_group_upgraded(group: ReadGroup, said: Said, _at_us: int) -> Made:
    members = dict(group.members)
    group.consumer, group.reconciled = True, set(members)
    yield e.ClassicGroupUpgraded(
        group=said.words["group"], broker=group.broker, epoch=group.generation, members=members, instance_ids={},
        topics=dict.fromkeys(members, ()), assigned=dict.fromkeys(members, ()), session_deadlines_us={},
    )  # fmt: skip


def _consumer_group_downgraded(group: ReadGroup, said: Said, _at_us: int) -> Made:
    if not group.consumer:  # the line before, which prepares a rebalance, has said so
        return
    group.consumer = False
    group.reconciled.clear()
    yield e.ConsumerGroupDowngraded(
        group=said.words["group"], broker=group.broker, generation=group.generation, protocol="", leader="",
        members=dict(group.members), assignment={}, session_deadlines_us={},
    )  # fmt: skip


def _empty_group_converted(group: ReadGroup, said: Said, _at_us: int) -> Made:
    group.consumer = said.words["protocol"] == "consumer"
    group.reconciled.clear()
    yield e.GroupProtocolConverted(group=said.words["group"], protocol=said.words["protocol"], broker=group.broker)


NO_EVENT: Final = frozenset({"says_no_event", "static_member_goes_on"})

FACTS: Final[dict[str, Callable[[ReadGroup, Said, int], Made]]] = {
    "member_id_assigned": _member_id_assigned,
    "member_joins": _member_joins,
    "rebalance_started": _rebalance_started,
    "no_rejoin": _no_rejoin,
    "members_absent": _members_absent,
    "barrier_completed": _barrier_completed,
    "group_empty": _barrier_completed,
    "assignment_received": _assignment_received,
    "session_expired": _session_expired,
    "member_left": _member_left,
    "classic_group_loaded": _classic_group_loaded,
    "group_unloaded": _group_unloaded,
    "consumer_member_joins": _consumer_member_joins,
    "consumer_member_replaced": _consumer_member_replaced,
    "consumer_member_left_for_a_time": _consumer_member_left_for_a_time,
    "consumer_member_left": _consumer_removal(RebalanceCause.MEMBER_LEFT),
    "consumer_member_expired": _consumer_removal(RebalanceCause.SESSION_EXPIRED),
    "consumer_member_too_slow": _consumer_removal(RebalanceCause.POLL_INTERVAL_EXCEEDED),
    "consumer_member_never_synced": _consumer_removal(RebalanceCause.SYNC_TIMED_OUT),
    "epoch_bumped": _epoch_bumped,
    "expressions_resolved": _expressions_resolved,
    "target_computed": _target_computed,
    "consumer_group_loaded": _consumer_group_loaded,
    "classic_group_upgraded": _classic_group_upgraded,
    "consumer_group_downgraded": _consumer_group_downgraded,
    "empty_group_converted": _empty_group_converted,
}
"""The facts of `sentences.tsv` → what makes their events."""
