"""Where a reset moves the committed offsets of a group without members, and the tool's words when it does not.

Source: Kafka's `ConsumerGroupCommand`, `OffsetsUtils`.
"""

from collections.abc import Iterable, Mapping


def only_inactive(group: str, state: str) -> str:
    """Why the offsets of a group with members are not reset."""
    return f"Assignments can only be reset if the group '{group}' is inactive, but the current state is {state}."


def cannot_shift(partition: str) -> str:
    """Why `shift` finds no offset."""
    return f"Cannot shift offset for partition {partition} since there is no current committed offset"


def reset_offset(where: str, amount: int, start: int, end: int, committed: int | None) -> int:
    """A partition's new offset: within its log from `start` to `end`, but for `current`, which is the committed one.

    `where`: earliest, latest, current, offset or shift; `amount`: the offset, or by how many; `committed`: None without
    one, from which `shift` counts nothing: see `cannot_shift`.
    """
    if where == "current":
        return end if committed is None else committed
    wanted = {"earliest": start, "latest": end, "offset": amount, "shift": (committed or 0) + amount}[where]
    return min(max(wanted, start), end)


def partitions_meant(places: Iterable[str], counts: Mapping[str, int]) -> tuple[str, ...]:
    """The partitions that topics and partitions stand for, each once; `counts`: the partitions of each topic."""
    found: dict[str, None] = {}
    for place in places:
        names = [f"{place}-{number}" for number in range(counts[place])] if place in counts else [place]
        found.update(dict.fromkeys(names))
    return tuple(found)
