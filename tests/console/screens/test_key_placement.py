"""`key K TOPIC`: where a key goes, on the console, live or recorded."""

from zlib import crc32

import pytest

from console.script_runner import shown_text
from tests.support.console.pilot import Seat, sit
from tests.support.console.recorded_flight import app


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_key_has_its_partition_now_and_with_twice_as_many(size: tuple[int, int]) -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("go 20s")
        await seat.settle()
        partitions = seat.app.flight.view.topics["orders"].partitions
        seat.app.execute_line('key "two words" orders')
        await seat.settle()
        said = shown_text(seat.app)
        assert f"{partitions} partitions" in said
        assert f"{2 * partitions} partitions" in said
        assert f"orders-{crc32(b'two words') % partitions}" in said
        await seat.press("escape")
        assert "librdkafka" not in shown_text(seat.app)

    sit(script, app=app(), size=size)


def test_before_the_topic_is_created_the_answer_says_so() -> None:
    """The recording plays backwards below the open answer."""

    async def script(seat: Seat) -> None:
        seat.app.execute_line("go 20s")
        await seat.settle()
        seat.app.execute_line("key 7 orders")
        await seat.settle()
        del seat.app.flight.view.topics["orders"]
        seat.app.draw()
        await seat.settle()
        assert "it does not exist at this instant" in shown_text(seat.app)

    sit(script, app=app())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("key", "an argument is missing: key KEY TOPIC [PARTITIONS]"),
        ("key 7", "an argument is missing"),
        ("key 7 order", "there is no topic `order` (did you mean orders?)"),
        ("key 7 orders many", "`many` is not a number of partitions"),
        ("key 7 orders 12 more", "unexpected `more`"),
        ("key 7 orders 1", "Kafka only adds partitions: orders has"),
        ('key "7 orders', "this quotation mark is not closed"),
    ],
)
def test_a_wrong_question_keeps_its_line(line: str, reason: str) -> None:
    async def script(seat: Seat) -> None:
        seat.app.execute_line("go 20s")
        await seat.settle()
        seat.app.open_line(":", line)
        await seat.press("enter")
        command_line = seat.app.input_line()
        assert command_line is not None
        assert command_line.is_open
        assert reason in " ".join(shown_text(seat.app).split()) or reason in seat.text()

    sit(script, app=app(), size=(160, 40))
