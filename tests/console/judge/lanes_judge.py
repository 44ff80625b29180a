"""Judges lanes: each mark has its event at that time of the last minute, and each event has its mark."""

import re

from tests.console.judge.grammar import Verdict
from tests.console.judge.member_books import MemberBook

MINUTE_US = 60_000_000
MEANS = {
    "━": {"reading"},
    "▒": {"stalled"},
    "═": {"syncing"},
    "‖": {"frozen"},
    "░": {"joining"},
    "▚": {"revoking", "reconciling"},
    "×": {"dead"},
}
GLYPH = {"joining": "░", "dead": "×", "frozen": "‖"}
WORDS = {"processing": "▓", "no poll()": "▒", "frozen": "‖", "joins": "░", "reconciles": "▚", "syncs": "═", "down": "×"}
LONG_US = 1_000_000
ERRORS = {"•": {"NONE"}, "↻": {"REBALANCE_IN_PROGRESS"}}


def judge_lane(member: MemberBook, now_us: int, lane: str, verdict: Verdict) -> None:
    """The poll loop, newest right; words inside a stretch are its marks."""
    for word, glyph in WORDS.items():
        lane = re.sub(rf" {re.escape(word)} (?={glyph})", glyph * (len(word) + 2), lane)
    cell_us = MINUTE_US // len(lane)
    spans = _spans(member, now_us)
    busy = [*member.busy, *([(member.busy_since_us, now_us)] if member.alive and not member.in_poll else [])]
    place = f"lane of {member.name}"
    for index, glyph in enumerate(lane):
        from_us = now_us - (len(lane) - index + 1) * cell_us
        to_us = from_us + 3 * cell_us
        if glyph == "▓":
            worked = any(a < to_us and b > from_us and b - a > LONG_US for a, b in busy)
            verdict.claim(worked, place, f"processing at {from_us / 1e6:.1f} s")
        elif glyph in MEANS:
            seen = {doing for a, b, doing in spans if a <= to_us and b >= from_us}
            verdict.claim(bool(seen & MEANS[glyph]), place, f"{glyph} at {from_us / 1e6:.1f} s, where it was {seen}")
        else:
            early = not spans or from_us <= spans[0][0]
            verdict.claim(glyph == " " and early, place, f"{glyph!r} at {from_us / 1e6:.1f} s")
    for a, b, doing in spans:
        if doing in GLYPH:
            first = max(0, len(lane) + 1 - (now_us - a) // cell_us)
            last = len(lane) - 2 - (now_us - b) // cell_us
            inside = lane[first : max(first, last)]
            verdict.claim(set(inside) <= {GLYPH[doing], "▓"}, place, f"{doing} is shown as {inside!r}")


def _spans(member: MemberBook, now_us: int) -> list[tuple[int, int, str]]:
    if not member.phases:
        return []
    ends = [at_us for at_us, _ in member.phases[1:]] + [now_us]
    spans = [(at_us, end_us, doing) for (at_us, doing), end_us in zip(member.phases, ends, strict=True)]
    return [span for span in spans if span[1] > now_us - 2 * MINUTE_US]


def judge_beats(member: MemberBook, now_us: int, lane: str, verdict: Verdict) -> None:
    """The heartbeat thread: a mark for each response, ‖ where the thread is stopped."""
    cell_us, place = MINUTE_US // len(lane), f"heartbeats of {member.name}"
    recent = [(at_us, error) for at_us, error in member.beats if at_us > now_us - MINUTE_US - 2 * cell_us]
    for index, glyph in enumerate(lane):
        from_us = now_us - (len(lane) - index + 1) * cell_us
        to_us = from_us + 3 * cell_us
        answers = {error for at_us, error in recent if from_us <= at_us <= to_us}
        if glyph in ERRORS:
            verdict.claim(bool(answers & ERRORS[glyph]), place, f"{glyph} at {from_us / 1e6:.1f} s, heard {answers}")
        elif glyph == "✖":
            verdict.claim(bool(answers - {"NONE", "REBALANCE_IN_PROGRESS"}), place, f"error at {from_us / 1e6:.1f} s")
        elif glyph == "‖":
            verdict.claim(member.frozen or member.beats_held, place, "it does not stand still")
        else:
            verdict.claim(glyph == " ", place, f"unknown mark {glyph!r}")
    for at_us, _ in recent:
        index = len(lane) - 1 - (now_us - at_us) // cell_us
        if 1 <= index < len(lane):
            around = lane[index - 1 : index + 2]
            verdict.claim(bool(around.strip()), place, f"the answer at {at_us / 1e6:.1f} s is not shown")
