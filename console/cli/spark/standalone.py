"""`flightdeck standalone`: a Spark standalone cluster on this machine, for `--master`."""

# ruff: noqa: PLC0415 - heavy imports are made by the command that needs them

import signal
from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from console.cli.errors import HELD, UsageError
from console.cli.options import whole_number
from console.cli.streams import write_help

MOST = 64


def standalone(
    *,
    workers: Annotated[int, Parameter(help="The number of workers.", converter=whole_number)] = 2,
    cores: Annotated[int, Parameter(help="The cores of each worker.", converter=whole_number)] = 1,
    memory: Annotated[str, Parameter(help="The memory of each worker, as Spark writes it.")] = "1g",
) -> int:
    """Run a Spark standalone cluster on this machine until Ctrl-C, and print its URL for --master."""
    for name, number in (("--workers", workers), ("--cores", cores)):
        if not 1 <= number <= MOST:
            raise UsageError(f"{name}: from 1 to {MOST}")
    from recordings.spark.runtime.standalone import standalone_cluster

    with suppress(KeyboardInterrupt), standalone_cluster(workers, cores=cores, memory=memory) as cluster:
        write_help(f"{cluster.url}\n")
        signal.pause()
    return HELD
