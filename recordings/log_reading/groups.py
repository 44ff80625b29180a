"""What the reader of a log knows of a group, and the names that it derives."""

import re
from typing import Final

from cluster.protocol import reasons
from cluster.protocol.rebalance_causes import RebalanceCause
from cluster.view.logged.state import UNKNOWN

_GENERATED_ID = re.compile(r"(.+)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_C: Final = RebalanceCause
_REASONS = tuple(
    (re.compile(pattern), cause)
    for pattern, cause in (
        (r"Adding new member (\S+) with group instance id .*", _C.MEMBER_JOINED),
        (r"removing member (\S+) on heartbeat expiration\.?", _C.SESSION_EXPIRED),
        (r"Removing (?:\[|\w*Set\()([^,\])]+).*[\])] on pending sync request expiration", _C.SYNC_TIMED_OUT),
        (r"Error \w+ when storing group assignment ?during SyncGroup \(member: (\S+)\)\.", _C.SYNC_TIMED_OUT),
        (r"Group's selectedProtocol will change because static member (\S+) with .*", _C.STATIC_MEMBER_REPLACED),
        (r"Updating metadata for static member (\S+) with instance id .*", _C.STATIC_MEMBER_REPLACED),
        (r"Freshly-loaded group .* is over capacity .*()", _C.COORDINATOR_MOVED),
    )
)
"""The coordinator's reason, as it stands behind `reason:`, with the member in its first place → the cause."""

_REJOINS = re.compile(r"(?:Leader|Updating metadata for member) (\S+) .*during \w+; client reason: (.*)")
_UNSYNCED: Final = re.compile(r"Removing (?:\[|\w*Set\()(.*)[\])] on pending sync request expiration")
_LEFT: Final = re.compile(r"Removing member (\S+) on LeaveGroup(?:; client reason: (.*))?")
"""A departure as releases 3.x have it: the line that says so to itself comes after."""
_LEAVES = re.compile(r"explicit `LeaveGroup` request for \((\S+?)[,)].*")

_CLIENT_REASONS = {
    reasons.METADATA_CHANGED: RebalanceCause.METADATA_CHANGED,
    reasons.SUBSCRIPTION_CHANGED: RebalanceCause.SUBSCRIPTION_CHANGED,
    reasons.ASSIGNMENT_DOES_NOT_MATCH: RebalanceCause.SUBSCRIPTION_CHANGED,
    reasons.REVOKED: RebalanceCause.PARTITIONS_REVOKED,
}


def client_of(member_id: str) -> str:
    """The name in a member id that a coordinator made: client.id, or group.instance.id of a static member.

    Members of the consumer protocol make their ids themselves: those name no client.
    """
    found = _GENERATED_ID.fullmatch(member_id)
    return found[1] if found else member_id


def cause_of_leaving(client_reason: str) -> str:
    """The cause of a LeaveGroup, by what it says (KIP-800)."""
    return (
        RebalanceCause.POLL_INTERVAL_EXCEEDED if client_reason == reasons.POLL_TIMEOUT else RebalanceCause.MEMBER_LEFT
    )


def unsynced(detail: str) -> list[str]:
    """The members that a reason to rebalance names because they did not send SyncGroup."""
    found = _UNSYNCED.fullmatch(detail)
    return found[1].split(", ") if found else []


class ReadGroup:
    """A group as far as the lines so far tell: its members (id → client) since they were named."""

    def __init__(self, broker: int, partition: str) -> None:
        self.broker, self.partition = broker, partition
        self.members: dict[str, str] = {}
        self.left_for: dict[str, str] = {}
        self.generation, self.consumer = -1, False
        self.reconciled: set[str] = set()  # members that an event of a consumer group names
        self.first = ""  # the member that joined while the group was Empty
        self.change: tuple[int, str, str] = (-1, "", "")

    def cause_of(self, detail: str) -> tuple[str, str]:
        """The cause, and the id of the member that set it off; `unknown` if the coordinator's reason does not tell."""
        for pattern, cause in _REASONS:
            if found := pattern.fullmatch(detail):
                return cause, found[1]
        if found := _LEAVES.fullmatch(detail):
            return self.left_for.get(found[1], UNKNOWN), found[1]
        if found := _LEFT.fullmatch(detail):
            return cause_of_leaving(found[2] or ""), found[1]
        if found := _REJOINS.fullmatch(detail):
            return _CLIENT_REASONS.get(found[2], UNKNOWN), found[1]
        return UNKNOWN, ""

    def counted(self, number: int) -> dict[str, str]:
        """The members, when the coordinator says how many: those that no line has named have unknown names."""
        named = {one: name for one, name in self.members.items() if name != UNKNOWN}
        if len(named) > number:  # a line of a departure is missing: of none is it known that it is there
            named = {}
        missing = {f"{UNKNOWN}-{place}": UNKNOWN for place in range(1, number - len(named) + 1)}
        self.members = {**named, **missing}
        return dict(self.members)
