"""Judges the line that a step shows: it says nothing that the event of that number in the event log does not hold."""

import re
from collections.abc import Mapping

STEP = re.compile(r" ▸ (?:([\d,]+) events, the last: )?event ([\d,]+): (\w+)((?: \S+)*)")
NO_EVENT = " ▸ no event in this step"
NAMED = re.compile(
    r"(?:broker|leader broker|generation|epoch|offset|from offset|position)[ -](-?\d+)|(1) record(?!s)|(\d+) records"
)

AT_A_NUMBER = re.compile(r" (?:from(?: offset)?|offset|leader(?: broker)?|broker|generation|epoch|position|(\d+)) $")
"""How a line may end that is cut before or after a number."""


def step_faults(shown: str, raw: Mapping[int, Mapping[str, object]], seq: int, events: int | None = None) -> list[str]:
    """What is false in a line, with the journal's lines by number, for a view that stands behind event `seq`.

    `events`: the number of events of the step, where the line must say it.
    """
    if shown.rstrip() == NO_EVENT:
        return [] if events == 0 else [f"there were events: {shown}"]
    shown, is_cut = shown.rstrip().removesuffix("…"), shown.rstrip().endswith("…")
    shown = shown.rpartition(" ")[0] if is_cut else shown  # half a word says nothing
    match = STEP.fullmatch(shown)
    if match is None:
        return [f"not a sentence of the grammar: {shown!r}"]
    several, number, kind, words = match.groups()
    faults = [] if int(number.replace(",", "")) == seq else [f"the view stands behind event {seq}: {shown}"]
    if events is not None and int((several or "1").replace(",", "")) != events:
        faults.append(f"the step had {events} events: {shown}")
    event = raw[seq]
    if kind != "".join(word.capitalize() for word in str(event["kind"]).split("_")):
        faults.append(f"event {seq} is {event['kind']}: {shown}")
    return [*faults, *_foreign(words.strip(), event, is_cut), *([] if is_cut else _missing(words, event))]


def _foreign(words: str, event: Mapping[str, object], is_cut: bool) -> list[str]:
    """Words that stand for no value of the event; a cut line may end with the first words of one."""
    rest = f" {words} "
    texts = [value for value in event.values() if isinstance(value, str) and value]
    for text in sorted(texts, key=len, reverse=True):
        rest = rest.replace(f" {text} ", "  ", 1)
    if is_cut:
        begun = max((_begun(text, rest) for text in texts), key=len, default="")
        rest = f"{rest.rstrip().removesuffix(begun)} "
    for match in NAMED.finditer(rest):
        if any(value == int(match[1] or match[2] or match[3]) for value in event.values()):
            rest = rest.replace(match[0], " ", 1)
    end = AT_A_NUMBER.search(rest) if is_cut else None
    if end is not None and (end[1] is None or any(value == int(end[1]) for value in event.values())):
        rest = rest[: end.start()]
    return [f"not in the event: {word}" for word in rest.split()]


def _begun(text: str, rest: str) -> str:
    """The first words of a text with which the rest of a line ends."""
    words = text.split(" ")
    beginnings = (" ".join(words[:count]) for count in range(len(words), 0, -1))
    return next((begin for begin in beginnings if rest.endswith(f" {begin} ")), "")


def _missing(words: str, event: Mapping[str, object]) -> list[str]:
    """Names and outcomes of the event that are not said."""
    fields = ("member" if event.get("member") else "group", "partition", "error")
    wanted = [event.get(field) for field in fields]
    return [f"not said: {value}" for value in wanted if value and f" {value}" not in words]
