"""What is wrong with a line that was typed, or what it would hit, can be read to its end on the smallest terminal."""

import pytest

from console.presenters.impact import preview
from console.presenters.styled_text import length, plain
from console.widgets.command_input import LineError, error_lines
from tests.support.console.pilot import Seat, sit


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("column", [0, 5, 30])
def test_a_complaint_is_never_cut(width: int, column: int) -> None:
    words = "no broker, member or producer is named billing-9 (did you mean billing-1?)"
    lines = error_lines(LineError(words, column), width)
    assert all(length(line) <= width for line in lines)
    assert plain(lines[0]).startswith(" " * (3 + column) + "▲")
    assert " ".join(" ".join(plain(line) for line in lines).replace("▲", " ").split()) == words


def test_the_caret_stays_under_the_word_and_the_suggestion_can_be_read() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill billing-9")
        await seat.press("enter")
        command_line = seat.app.input_line()
        assert command_line is not None
        said = command_line.feedback.plain_text().split("\n")
        assert said[0] == " " * 8 + "▲"
        assert " ".join(" ".join(said[1:]).split()).endswith("(did you mean billing-1?)")
        await seat.press("backspace")
        assert command_line.feedback.plain_text().strip() == ""
        assert command_line.size.height == 3

    sit(script, size=(80, 24))


def test_what_a_command_would_hit_can_be_read_to_its_end() -> None:
    async def script(seat: Seat) -> None:
        await seat.press("colon")
        await seat.type("kill broker-1")
        command_line = seat.app.input_line()
        assert command_line is not None
        flight = seat.app.flight
        foretold = plain(preview(flight.view, flight.names(), flight.now_us, "kill broker-1"))
        said = " ".join(command_line.feedback.plain_text().split())
        assert said == " ".join(foretold.split())
        assert command_line.size.height == 2 + len(command_line.feedback.plain_text().split("\n")) > 3

    sit(script, size=(80, 24))
