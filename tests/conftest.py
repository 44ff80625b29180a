"""Options of the whole test suite, and how it is spread over processes."""

import os
import signal

import pytest
from hypothesis import settings

from tests.support import garbage_collection
from tests.support.signal_handlers import pytest_runtest_setup, pytest_runtest_teardown  # noqa: F401 - hooks
from tests.support.worker_scheduling import pytest_testnodedown, pytest_xdist_make_scheduler  # noqa: F401 - hooks

MOST_PROCESSES = 4

for name in ("PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"):  # users' processes have neither, and ours behave otherwise
    os.environ.pop(name, None)

os.environ["FLIGHTDECK_CONFIG_DIR"] = ""  # no test reads or writes the settings of whoever runs it

# Hypothesis is here before a console of a test freezes what the garbage collector sees: trio registers with it.
# A deadline is a judgement of wall-clock time: a busy machine would fail it. Hypothesis has one unless CI is set.
settings.register_profile("without a deadline", settings(), deadline=None)
settings.load_profile("without a deadline")

for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:  # by `nohup` or `&`: what tests start would inherit it
        signal.signal(number, default)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        help="write what the library's flights are now into tests/scenarios/golden.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(garbage_collection)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process for each core when the whole suite runs; one in all for chosen files, or when output is asked for."""
    whole = config.args_source is not pytest.Config.ArgsSource.ARGS
    return min(os.cpu_count() or 1, MOST_PROCESSES) if whole and config.option.capture != "no" else 0


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One Spark for the whole run: what needs it runs in one process, and first, because it takes longest."""
    for item in items:
        if _needs_spark(item):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: not _needs_spark(item))


def _needs_spark(item: pytest.Item) -> bool:
    return item.path.parent.name == "spark" or "spark" in getattr(item, "fixturenames", ())
