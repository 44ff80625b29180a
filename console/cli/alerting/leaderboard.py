"""The readable output of `flightdeck alerts`: the best rule in words, the leaderboard, each rule by class of fault.

Functions return text; none prints.
"""

from collections.abc import Sequence

from console.visible import visible_line
from recordings.alerts.scoring import ClassScore, Leaderboard, RuleScore
from recordings.alerts.watch import Watched

SECOND_US = 1_000_000


def of_alerts(board: Leaderboard, flights: Sequence[Watched]) -> str:
    """The best rule, how many faults of how many recordings were there to find, and both tables."""
    lines = [_best(board), _basis(board), ""]
    rows = [["rule", "found", "missed", "hidden", "median delay", "false", "unexplained"]]
    rows += [
        [
            *(one.rule, *map(str, (one.found, one.missed, one.hidden))),
            *(_seconds(one.median_delay_us), str(one.false), str(one.unexplained)),
        ]
        for one in board.scores
    ]
    lines += _aligned(rows)
    if board.faults:
        lines += ["", *_aligned(_by_class(board))]
    harmless = [f"{one.recording}: {fault.text}" for one in flights for fault in one.faults] if not board.faults else []
    if harmless:
        lines += ["", "Faults that hurt no group:", *(f"  {text}" for text in harmless)]
    return "\n".join(visible_line(line) for line in lines)


def _best(board: Leaderboard) -> str:
    best = board.scores[0]
    if not board.faults:
        quiet = sum(1 for one in board.scores if not one.false)
        return f"No fault hurts a group: {quiet} of {_many(len(board.scores), 'rule')} raise no false alert."
    if not best.found:
        return f"No rule is better than {best.rule!r}, and it finds no fault."
    after = f"in {_seconds(best.median_delay_us)} (median)"
    return f"Best rule: {best.rule!r}: it finds {_of(best)} {after}, with {_many(best.false, 'false alert')}."


def _of(one: RuleScore) -> str:
    return f"{one.found} of {_many(one.found + one.missed, 'fault')}"


def _basis(board: Leaderboard) -> str:
    harmless = f"; {_many(board.harmless, 'fault')} hurt none" if board.harmless else ""
    return f"{_many(board.recordings, 'recording')}: {_many(board.faults, 'fault')} hurt a group{harmless}."


def _by_class(board: Leaderboard) -> list[list[str]]:
    """One row for each class, one column for each rule: found of all, and the shortest to the longest delay."""
    names = sorted({each.fault_class for one in board.scores for each in one.by_class})
    rows = [["rule", *names]]
    for one in board.scores:
        known = {each.fault_class: each for each in one.by_class}
        rows.append([one.rule, *(_class_cell(known.get(name)) for name in names)])
    return rows


def _class_cell(one: ClassScore | None) -> str:
    if one is None or not (one.delays_us or one.missed):
        return "–"
    found = f"{len(one.delays_us)}/{len(one.delays_us) + one.missed}"
    if not one.delays_us:
        return found
    least, most = _seconds(min(one.delays_us)), _seconds(max(one.delays_us))
    return f"{found} in {least}" if least == most else f"{found} in {least} to {most}"


def _seconds(us: int | None) -> str:
    return "–" if us is None else f"{us / SECOND_US:.1f} s"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.rjust(width) if column else word.ljust(width)
            for column, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
