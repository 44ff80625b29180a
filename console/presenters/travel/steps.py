"""What a step did, in one line: `event 31,204: HeartbeatAnswered billing-2 NONE`."""

from collections.abc import Mapping

import msgspec

from cluster.events import Event
from console.flight import Stepped
from console.presenters.styled_text import ACCENT, MUTED, STRONG, Line, line

ACTORS = ("member", "producer", "transactional_id", "group", "target", "scope")
"""Fields that name an event's actor: the first that it has and that is not empty is said."""
OBJECTS = ("partition", "topic")
OUTCOMES = ("text", "key", "value", "error", "state", "how", "cause", "trigger", "reason")
"""Fields that are said as they are."""
LABELS: Mapping[str, str] = {
    "broker": "broker-{}",
    "leader": "leader broker-{}",
    "generation": "generation {}",
    "epoch": "epoch {}",
    "base_offset": "offset {}",
    "offset": "offset {}",
    "position": "position {}",
    "first_offset": "from offset {}",
    "records": "{} records",
    "count": "{} records",
}
"""Fields that are said with a word beside them."""


def event_words(event: Event) -> tuple[str, str]:
    """An event's kind, and what it says: actor, object, numbers, outcome."""
    said = msgspec.structs.asdict(event)
    texts = {field: value for field, value in said.items() if isinstance(value, str) and value}
    numbers = {field: value for field, value in said.items() if type(value) is int and value >= 0}
    actor = next((texts[field] for field in ACTORS if field in texts), "")
    words = [actor, *(texts[field] for field in OBJECTS if field in texts)]
    words += [_labelled(label, numbers[field]) for field, label in LABELS.items() if field in numbers]
    words += [texts[field] for field in OUTCOMES if field in texts]
    return type(event).__name__, " ".join(word for word in words if word)


def _labelled(label: str, number: int) -> str:
    """`offset 4`, `12 records`, `1 record`."""
    return label.format(number) if number != 1 else label.format(number).removesuffix("s")


def step_line(stepped: Stepped) -> Line:
    """What the step did: the event that the view stands behind, or that it had none."""
    event = stepped.event
    if event is None:
        return line((" ▸ ", ACCENT), ("no event in this step", MUTED))
    kind, words = event_words(event)
    several = f"{stepped.events:,} events, the last: " if stepped.events > 1 else ""
    return line((" ▸ ", ACCENT), (f"{several}event {event.seq:,}: ", MUTED), (kind, STRONG), f" {words}".rstrip())
