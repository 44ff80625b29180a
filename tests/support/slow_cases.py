"""Cases of a test of which the default run flies some; all the others are `slow`, or of the campaign by hand."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def partly_campaign(cases: Sequence[object], slow: int) -> list[Any]:
    """The cases as parameters of a slow test: `slow` of them, evenly spread; the others belong to the campaign."""
    kept = {place * len(cases) // slow for place in range(slow)}
    marks = [pytest.mark.slow if place in kept else pytest.mark.campaign for place in range(len(cases))]
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark)
        for case, mark in zip(cases, marks, strict=True)
    ]


def mostly_slow(cases: Iterable[object], quick: Iterable[object], slow: int | None = None) -> list[Any]:
    """The cases as parameters; those that are not quick are slow: all of them, or `slow` of them, evenly spread."""
    at_once, every = list(quick), list(cases)
    others = [case for case in every if case not in at_once]
    if slow is None:
        return [case if case in at_once else pytest.param(case, marks=pytest.mark.slow) for case in every]
    return [*(case for case in every if case in at_once), *partly_campaign([(case,) for case in others], slow)]
