"""Groups of a flight as kafka-consumer-groups.sh sees them: rows of its tables from the view.

Kafka asks the coordinator for a group's members, and the partitions' leaders for their ends (ListOffsets with LATEST:
the high watermark). Unknown here, and so "-": a member's host, and the leader epoch of a committed offset. Members come
in the order of Kafka's own hash tables. Source: `ConsumerGroupCommand.ConsumerGroupService`, `ClassicGroup.describe`.
"""

from collections.abc import Iterable

from cluster.protocol.names import TopicPartition
from cluster.view.state import NEVER, ClusterView, GroupView, MemberView
from recordings.kafka_log.java_maps import string_map_order, timeline_map_order
from recordings.kafka_tools.group_tables import BufferedRow, MemberRow, OffsetRow, StateRow, assignment_text
from recordings.kafka_tools.printed import MISSING

PORT = 9092
DEFAULT_ASSIGNOR = "uniform"


def exists(group: GroupView) -> bool:
    """Whether a coordinator knows the group: a member has asked to join, or joined, or it has committed offsets.

    Source: `GroupMetadataManager.getOrMaybeCreateClassicGroup`, at the JoinGroup that is answered MEMBER_ID_REQUIRED.
    """
    if group.state == "Dead":
        return False
    return bool(group.coordinated_by != NEVER or group.members or group.pending or committed_partitions(group))


def committed_partitions(group: GroupView) -> dict[TopicPartition, int]:
    """The group's committed offsets, by topic and number."""
    known = {name: one.committed for name, one in group.readers.items() if one.committed != NEVER}
    return {place: known[str(place)] for place in sorted(map(TopicPartition.parse, known))}


def coordinator_of(view: ClusterView, group: GroupView) -> int:
    """The broker that leads the group's partition of `__consumer_offsets`; -1 for none."""
    partition = view.partitions.get(group.coordinator_partition)
    return NEVER if partition is None else partition.leader


def node_text(broker: int) -> str:
    """A coordinator as `--state` has it: host, port, two blanks and its id."""
    return f"broker-{broker}:{PORT}  ({broker})"


def _gives_assignor(group: GroupView) -> bool:
    """A classic group names its assignor only while it is Stable. Source: `GroupMetadataManager.describeGroups`."""
    return group.consumer is not None or group.state == "Stable"


def _assignments_kept(group: GroupView) -> bool:
    """A classic group keeps the last assignments while it rebalances, until a barrier opens again before they are new.

    Source: `GroupMetadataManager.resetAndPropagateAssignmentError`.
    """
    opened = group.open_rebalance
    return opened is None or opened.attempts == 1


def _members(group: GroupView) -> list[str]:
    return string_map_order(group.members) if group.consumer is None else timeline_map_order(group.members)


def _assigned(group: GroupView, member_id: str) -> list[TopicPartition]:
    names = group.assignment.get(member_id, ()) if _assignments_kept(group) else ()
    return sorted(map(TopicPartition.parse, names))


def offset_rows(view: ClusterView, group: GroupView) -> list[OffsetRow]:
    """Assigned partitions, members with most of them first, then committed ones that no member has."""
    committed = committed_partitions(group)
    assigned = {member_id: _assigned(group, member_id) for member_id in _members(group)}
    rows: list[OffsetRow] = []
    for member_id in sorted(assigned, key=lambda one: -len(assigned[one])):
        client = (member_id, MISSING, group.members[member_id])
        rows += _rows_of(view, group.group, assigned[member_id], committed, client)
    taken = {place for places in assigned.values() for place in places}
    left = [place for place in committed if place not in taken]
    return rows + _rows_of(view, group.group, left, committed, (MISSING, MISSING, MISSING))


def _rows_of(
    view: ClusterView,
    group: str,
    places: Iterable[TopicPartition],
    committed: dict[TopicPartition, int],
    client: tuple[str, str, str],
) -> list[OffsetRow]:
    rows = []
    for place in places:
        partition = view.partitions.get(str(place))
        end = None if partition is None or partition.leader == NEVER else partition.high_watermark
        offset = committed.get(place)
        lag = MISSING if end is None or offset is None else str(end - offset)
        committed_at, ends_at = (MISSING if one is None else str(one) for one in (offset, end))
        number = str(place.partition)
        rows.append(OffsetRow(group, place.topic, number, MISSING, committed_at, ends_at, lag, *client))
    return rows


def buffered_rows(view: ClusterView, group: GroupView) -> list[BufferedRow]:
    """What each process of a group owns and holds, by its own account; it need not be a member (assign())."""
    rows = []
    for name, member in view.members.items():
        for place in sorted(map(TopicPartition.parse, member.owned)) if member.group == group.group else ():
            partition = str(place)
            position, held = member.positions.get(partition), member.buffered.get(partition)
            brought = (
                (str(held.next_offset), str(held.records), str(held.bytes), str(held.broker), str(held.at_us // 1_000))
                if held is not None
                else 5 * (MISSING,)
            )
            at = MISSING if position is None else str(position)
            paused = "true" if partition in member.paused_partitions else "false"
            awaits = _awaited(view, group, member, partition)
            rows.append(BufferedRow(group.group, place.topic, str(place.partition), at, *brought, paused, name, awaits))
    return rows


def _awaited(view: ClusterView, group: GroupView, member: MemberView, partition: str) -> str:
    """What a partition's next records wait for. No event tells of a Fetch before its answer stays in the buffer."""
    position = member.positions.get(partition)
    if partition in member.paused_partitions:
        return "resume()"
    if partition in member.buffered:
        return "poll()"
    if position is None:
        return "position"
    log = view.partitions[partition]
    source = member.read_from.get(partition, log.leader)
    if source < 0:
        return "leader"
    if not view.brokers[source].up or view.brokers[source].paused:  # one that starts takes no connections yet
        return "broker"
    if position >= log.high_watermark:
        return "records"
    return "transaction" if group.read_committed and position >= log.last_stable_offset else "fetch"


def member_rows(group: GroupView, static_ids: dict[str, str]) -> list[MemberRow]:
    """The group's members; `static_ids`: client id → group.instance.id."""
    rows = []
    consumer = group.consumer
    for member_id in _members(group):
        client, places = group.members[member_id], _assigned(group, member_id)
        new = consumer.members.get(member_id) if consumer is not None else None
        epoch = target_epoch = target = upgraded = MISSING
        instance_id = static_ids.get(client, "")
        if consumer is not None and new is not None:
            epoch, target_epoch = str(new.epoch), str(consumer.assignment_epoch)
            target = assignment_text([TopicPartition.parse(name) for name in new.target])
            upgraded = "false" if new.classic else "true"
            instance_id = new.instance_id
        rows.append(
            MemberRow(group.group, member_id, instance_id, MISSING, client, len(places), epoch, assignment_text(places),
                      target_epoch, target, upgraded)
        )  # fmt: skip
    return rows


def state_row(view: ClusterView, group: GroupView) -> StateRow:
    """The group at its coordinator."""
    consumer = group.consumer
    epochs = (MISSING, MISSING) if consumer is None else (str(consumer.group_epoch), str(consumer.assignment_epoch))
    assignor = (group.assignor or MISSING) if _gives_assignor(group) else MISSING
    if consumer is not None and group.state == "Empty":
        assignor = DEFAULT_ASSIGNOR  # without a member that prefers another one
    coordinator = node_text(coordinator_of(view, group))
    return StateRow(group.group, coordinator, assignor, group.state, *epochs, len(group.members))


def list_rows(view: ClusterView) -> list[tuple[str, str, str]]:
    """Every group that a coordinator knows, with its type and state, by name."""
    known = (group for _, group in sorted(view.groups.items()) if exists(group))
    return [(group.group, "Classic" if group.consumer is None else "Consumer", group.state) for group in known]
