"""What a scenario declares of one member of a group: where it differs from the others."""

import msgspec

from cluster.config import Value


class MemberSpec(msgspec.Struct, frozen=True):
    """Settings of one member, over its group's: consumer keys, assignors, and the times for a record and a start."""

    name: str
    assignors: tuple[str, ...] | None = None
    config: dict[str, Value] = {}
    per_record_us: int | None = None
    startup_us: int | None = None
