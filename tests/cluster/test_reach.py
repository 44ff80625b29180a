"""Probes: each is in the code once, each has words, and counting changes nothing."""

import re
from collections import Counter
from pathlib import Path

import cluster
from cluster.reach import NOT_ASKED, PROBES, counting, reached
from recordings.swarm.generator import draw
from recordings.swarm.seeds import fly_once

CODE = Path(str(cluster.__file__)).parent


def test_every_probe_is_in_the_code_once_and_no_other() -> None:
    calls = [
        call
        for path in sorted(CODE.rglob("*.py"))
        if path.name != "reach.py"
        for call in re.findall(r"reached\((.*?)\)\n", path.read_text(encoding="utf-8"), re.DOTALL)
    ]
    used = Counter(name for call in calls for name in re.findall(r'"([^"]+: [^"]+)"', call))
    assert set(used) == set(PROBES)
    assert [name for name, count in used.items() if count > 1] == []
    assert len(PROBES) - len(NOT_ASKED) >= 40
    assert set(NOT_ASKED) <= set(PROBES)
    assert all(NOT_ASKED.values())


def test_only_what_is_reached_while_somebody_counts_is_counted() -> None:
    reached("append: duplicate")
    with counting() as found:
        reached("append: duplicate")
        with counting() as inner:
            reached("append: too large")
        assert inner["append: too large"] == 1
        assert inner["append: duplicate"] == 0
    reached("append: duplicate")
    assert found["append: duplicate"] == 1
    assert found["append: too large"] == 0


def test_a_flight_is_the_same_whether_or_not_its_branches_are_counted() -> None:
    spec = draw(3, 60_000_000).spec
    plain: list[bytes] = []
    counted: list[bytes] = []
    fly_once(spec, plain.append)
    with counting() as found:
        fly_once(spec, counted.append)
    assert b"".join(plain) == b"".join(counted)
    assert any(found.values())
