"""A leaderboard in words."""

from recordings.alerts.scoring import ClassScore, Leaderboard, RuleScore

SECOND_US = 1_000_000


def sentences(board: Leaderboard) -> list[str]:
    """The best rule, the class of faults that it misses most, and what that rests on."""
    return [_best(board), *_blind_spot(board), _basis(board)]


def seconds(us: int | None) -> str:
    """A delay: `12.5 s`; without one `–`."""
    return "–" if us is None else f"{us / SECOND_US:.1f} s"


def _best(board: Leaderboard) -> str:
    best = board.scores[0]
    if not board.faults:
        quiet = sum(1 for one in board.scores if not one.false)
        return f"No fault hurts a group: {quiet} of {_many(len(board.scores), 'rule')} raise no false alert."
    if not best.found:
        return f"No rule is better than {best.rule!r}, and it finds no fault."
    after = f"in {seconds(best.median_delay_us)} (median)"
    return f"{best.rule!r} is the best rule: it finds {_of(best)} {after}, with {_many(best.false, 'false alert')}."


def _of(one: RuleScore) -> str:
    return f"{one.found} of {_many(one.found + one.missed, 'fault')}"


def _basis(board: Leaderboard) -> str:
    harmless = f"; {_many(board.harmless, 'fault')} hurt none" if board.harmless else ""
    return f"{_many(board.recordings, 'flight')}: {_many(board.faults, 'fault')} hurt a group{harmless}."


def _blind_spot(board: Leaderboard) -> list[str]:
    """`It misses 9 of 12 faults of the class 'abandon of producer'.`, where there are several classes."""
    best = board.scores[0]
    if not best.found or not best.missed or len(best.by_class) == 1:
        return []
    worst = max(best.by_class, key=lambda each: (each.missed, each.fault_class))
    return [f"It misses {worst.missed} of {_all(worst)} of the class {worst.fault_class!r}."]


def _all(one: ClassScore) -> str:
    return _many(len(one.delays_us) + one.missed, "fault")


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun if number == 1 else noun + 's'}"
