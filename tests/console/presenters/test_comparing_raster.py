"""The mark of the first divergence on the axis of two flights."""

import pytest

from console.presenters.comparing.raster import _marked
from console.presenters.styled_text import MUTED, line, plain


@pytest.mark.parametrize(
    ("cell", "drawn"),
    [
        (0, "≠       1:00    2:00"),
        (3, "   ≠    1:00    2:00"),
        (4, "0:00≠   1:00    2:00"),
        (9, "0:00     ≠      2:00"),
        (19, "0:00    1:00       ≠"),
    ],
)
def test_the_mark_of_the_first_divergence_hides_no_part_of_a_time(cell: int, drawn: str) -> None:
    said = plain(_marked(line(("0:00    1:00    2:00", MUTED)), cell))
    assert said == drawn
