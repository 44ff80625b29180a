"""Several processes fly at once; the end of one costs the flight that it flew, and no other."""

import os
import signal

import pytest

from recordings.flights.processes import ProcessEnded, flown_in


def answered(order: int) -> int:
    if order == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return order * 10


def refused(order: int) -> int:
    raise ValueError(f"order {order}")


def test_a_killed_process_costs_one_flight() -> None:
    with flown_in(2, answered, range(6)) as results:
        found = {number: (order, result) for number, order, result in results}
    assert found.pop(3) == (3, ProcessEnded(-signal.SIGKILL))
    assert found == {number: (number, number * 10) for number in (0, 1, 2, 4, 5)}
    assert ProcessEnded(-9).reason == "its process was ended by SIGKILL: the machine may be out of memory"
    assert ProcessEnded(3).reason == "its process ended with exit code 3"


def test_what_a_flight_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="order 0"), flown_in(1, refused, [0]) as results:
        list(results)


def blocked(order: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_spares_a_process_that_still_imports() -> None:
    with flown_in(1, blocked, [0]) as results:
        assert [result for _, _, result in results] == [True]
    assert not blocked(0)
