"""`compare.html`: what two sets cost, as a picture and tables, on one page that needs neither network nor script."""

from typing import Final, NamedTuple

from markupsafe import Markup

from recordings.spark.compare.compared import (
    SURE,
    Compared,
    evidence,
    interval,
    mean_amount,
    sentences,
    signed,
    typical,
)
from recordings.spark.compare.differences import MeasureDifference
from recordings.spark.formatting import many
from recordings.spark.page_templates import rendered, single_page

WIDTH: Final = 1160
LEFT, RIGHT, TOP, ROW = 250, 190, 34, 30
PAIRS_SHOWN: Final = 200


class Whisker(NamedTuple):
    """A measure in the picture: its dot and the ends of its interval, as a share of the larger mean."""

    y: int
    name: str
    at: float
    low: float
    high: float
    kind: str
    text: str


def whiskers(compared: Compared) -> list[Whisker]:
    """The picture: each measure that is not the same everywhere, from −100 % (B costs nothing of it) to +100 %."""
    found = []
    for place, each in enumerate(compared.differences.totals):
        larger = max(each.a, each.b)
        low, high = (each.difference if end is None else end for end in (each.low, each.high))
        kind = "same" if not each.differs else "better" if each.b_is_better else "worse"
        text = f"{signed(each.field, each.difference)} {'' if each.unit == each.measure else each.unit}".strip()
        at, first, last = (_across(value / larger) for value in (each.difference, low, high))
        found.append(Whisker(TOP + ROW * place + ROW // 2, each.measure, at, first, last, kind, text))
    return found


def _across(share: float) -> float:
    """The place of a share from −1 to 1; an interval may reach further than the picture."""
    return round(LEFT + (WIDTH - LEFT - RIGHT) * (min(1.0, max(-1.0, share)) + 1) / 2, 1)


def verdict_of(compared: Compared, each: MeasureDifference) -> str:
    """Which set is better in a measure: `hasty better`, or that the two are not different."""
    if not each.differs:
        return "not different"
    return f"{compared.b} {'better' if each.b_is_better else 'worse'}"


def page(compared: Compared) -> str:
    """The whole page. Every text of a recording is escaped."""
    return single_page(f"{compared.a} and {compared.b}", "compare", sections(compared))


def sections(compared: Compared) -> Markup:
    """The answer, the measures and the pairs, as sections of a page."""
    shown = typical(compared)
    rows = compared.differences.totals
    return rendered(
        "compare.html.j2",
        compared=compared,
        sentences=sentences(compared),
        command="" if shown is None else evidence(shown),
        picture=whiskers(compared),
        ticks=[(_across(share / 2), f"{share * 50:+} %".replace("-", "−") if share else "0") for share in range(-2, 3)],
        rows=[*rows, *compared.differences.rows],
        heaviest=(compared.different or rows)[:2],
        pairs=compared.judged[:PAIRS_SHOWN],
        left_out=max(0, len(compared.judged) - PAIRS_SHOWN),
        evidence=evidence,
        verdict=lambda each: verdict_of(compared, each),
        interval=interval,
        mean=mean_amount,
        signed=signed,
        many=many,
        sure=SURE,
        box=(WIDTH, TOP + ROW * len(rows) + 30, LEFT, TOP, WIDTH - RIGHT, TOP + ROW * len(rows)),
    )
