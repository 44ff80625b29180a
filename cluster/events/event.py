"""What all events have: their number, their instant, and the kind under which a journal has them."""

import msgspec


def _snake(name: str) -> str:
    """`RecordsAppended` → `records_appended`: the `kind` of an event in journals and tables."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


class Event(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag_field="kind", tag=_snake):
    """One fact. `seq` counts events from 1; `at_us` is the instant; both are 0 until the pipeline stamps them."""

    seq: int = 0
    at_us: int = 0


def kind_of(event: Event | type[Event]) -> str:
    """The `kind` under which an event is journaled, e.g. `records_appended`."""
    tag = event.__struct_config__.tag
    assert isinstance(tag, str)
    return tag
