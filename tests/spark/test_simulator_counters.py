"""Spark's totals equal what the simulator's own objects count: logs, coordinators, clients, asked without an event."""

import pytest

from tests.support.spark.progress import Watched
from tests.support.spark.report_command import Made

pytestmark = pytest.mark.timeout(300)  # a Java virtual machine, and a machine that may be busy


def test_totals_are_the_simulator_s(made: Made, watched: Watched) -> None:
    flight, told = made.flight(watched.path), watched.told
    delivery = told["delivery"]
    assert delivery["produced"] > 100
    for name in flight.totals.__struct_fields__:
        assert getattr(flight.totals, name) == delivery[name], name
    assert {group.group for group in flight.groups} == set(told["groups"])
    for group in flight.groups:
        for name in ("delivered", "duplicated", "lost", "unread"):
            assert getattr(group, name) == delivery["by_group"][group.group][name], name
        assert group.lag.lag_end == told["groups"][group.group]["lag"]
