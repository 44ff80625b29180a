"""Cases of a test of which the default run flies some; all the others are `slow`."""

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(cases: Iterable[object], quick: Iterable[object]) -> list[Any]:
    """The cases as parameters, in order; those that are not among the quick ones are slow."""
    at_once = list(quick)
    return [case if case in at_once else pytest.param(case, marks=pytest.mark.slow) for case in cases]
