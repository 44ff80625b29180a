"""Every vector file in the oracles' directory, one test for each vector."""

from __future__ import annotations

import pytest

from tests.oracles.outcome import Skip
from tests.oracles.schemas import Vector


def test_vector(oracle_vector: Vector) -> None:
    try:
        oracle_vector.run()
    except Skip as skip:
        pytest.skip(skip.reason)
