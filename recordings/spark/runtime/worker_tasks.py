"""Spark tasks that each do one piece of Python work: a flight to fly, a recording to read."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

from pyspark.sql import DataFrame

from recordings.flights.processes import cores

LOOK_EVERY_S: Final = 1.0
NUMBER: Final = "number"
ATTEMPTS: Final = 3
"""How often a task is tried whose process ends with it, before its row says so."""

Done = TypeVar("Done")


def attended(work: Callable[[], Done], look: Callable[[], object]) -> Done:
    """Do the work in a thread, and look at it now and then.

    Ctrl-C comes to this thread, which waits: in the middle of a call of Py4J's it would break the connection by which
    PySpark cancels its jobs. After it this does not wait for the work, which ends with the session.
    """
    thread = ThreadPoolExecutor(1, thread_name_prefix="spark")
    future = thread.submit(work)
    try:
        while not wait([future], LOOK_EVERY_S).done:
            look()
        return future.result()
    finally:
        thread.shutdown(wait=future.done())


def patient(master: str | None) -> str:
    """A local master tries a task again whose process ended; others do so by themselves."""
    if master is not None and not (master.startswith("local") and "," not in master):
        return master
    number = str(cores()) if master in {None, "local[*]"} else (master or "").partition("[")[2].rstrip("]") or "1"
    return f"local[{number},{ATTEMPTS + 1}]"


def one_a_task(rows: DataFrame, number: int) -> DataFrame:
    """Rows with a `number` each, one in each of as many partitions, in order: dealt by a hash, some would share one."""
    return rows.repartitionByRange(number, NUMBER)
