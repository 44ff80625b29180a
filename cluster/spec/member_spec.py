"""What a scenario declares of one member of a group: where it differs from the others."""

import msgspec

from cluster.config import Value
from cluster.spec.application_spec import OnRevoked


class MemberSpec(msgspec.Struct, frozen=True):
    """Settings of one member, over its group's: consumer keys, assignors, times, and its rebalance listener."""

    name: str
    assignors: tuple[str, ...] | None = None
    config: dict[str, Value] = {}
    per_record_us: int | None = None
    startup_us: int | None = None
    on_revoked: OnRevoked | None = None
    revoke_takes_us: int | None = None
