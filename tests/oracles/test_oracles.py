"""Every vector file in the oracles' directory, one test for each vector."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.oracles.outcome import Skip
from tests.oracles.schemas import Vector


def test_vector(oracle_vector: Vector, record_property: Callable[[str, object], None]) -> None:
    try:
        record_property("rule", oracle_vector.run())
    except Skip as skip:
        pytest.skip(skip.reason)
