"""A test leaves the process's signal handlers as it found them: other tests send signals to themselves."""

import signal
from collections.abc import Generator

import pytest

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_before = pytest.StashKey[list[object]]()


def _handlers() -> list[object]:
    return [signal.getsignal(number) for number in HEARD]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, None, None]:
    """Before the fixtures too."""
    item.stash[_before] = _handlers()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """The test that leaves others fails, and no other with it."""
    try:
        return (yield)
    finally:
        before, after = item.stash[_before], _handlers()
        for number, handler in zip(HEARD, before, strict=True):
            signal.signal(number, handler)  # type: ignore[arg-type]
        if after != before:
            pytest.fail(f"leaves other handlers of {[number.name for number in HEARD]}: {after}, not {before}", False)
