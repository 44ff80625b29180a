"""Chance in named streams."""

import os
import subprocess
import sys

from cluster.random_streams import random_stream


def draw(seed: int, name: str) -> list[float]:
    stream = random_stream(seed, name)
    return [stream.random() for _ in range(5)]


def test_a_seed_and_a_name_make_a_stream() -> None:
    assert draw(7, "link-1") == draw(7, "link-1")
    assert draw(7, "link-1") != draw(8, "link-1")
    assert draw(7, "link-1") != draw(7, "link-2")


def test_one_more_stream_changes_nobody_elses_luck() -> None:
    first = random_stream(7, "consumer-1")
    before = [first.random() for _ in range(3)]
    alone = random_stream(7, "consumer-1")
    after = [(alone.random(), random_stream(7, "consumer-2").random())[0] for _ in range(3)]
    assert before == after


def test_a_stream_is_the_same_in_every_process() -> None:
    code = "from cluster.random_streams import random_stream; print(random_stream(7, 'link-1').getrandbits(64))"
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    printed = {
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment).stdout
        for _ in range(2)
    }
    assert printed == {f"{random_stream(7, 'link-1').getrandbits(64)}\n"}
    assert random_stream(1, "a").getrandbits(32) == 2955472016  # and for ever: recordings depend on it
