"""`flightdeck diff`: the verdict first, words for better and worse, exit codes."""

import json
from pathlib import Path

from tests.support.console.command_processes import Flightdeck


def test_equal_flights_are_exit_code_0_and_different_ones_1(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    a, b = tmp_path / "a.flight", tmp_path / "b.flight"
    flightdeck("run", small, "--record", a)
    with Path(small).open("a") as file:
        file.write('[[at]]\ntime = "7s"\ndo = "kill billing-1"\n')
    flightdeck("run", small, "--record", b)
    same = flightdeck("diff", a, a)
    assert same.code == 0
    assert same.out.startswith("The flights are equal: ")
    ended = flightdeck("diff", a, b)
    assert ended.code == 1
    first, _, rest = ended.out.partition("\n")
    assert first.startswith("a costs 0 unread partition-seconds")
    assert "; b costs " in first
    assert "  only b: kill billing-1 at 00:00:07.0" in rest
    assert "b worse" in rest
    assert "the same: " in rest
    assert rest.count("unread ") == 1
    report = json.loads(flightdeck("diff", b, a, "--json").out)
    assert [row["b_is_better"] for row in report["bill"]["differing"] if row["field"] == "unread_partition_us"] == [
        True
    ]
    assert (report["equal"], report["until_us"]) == (False, report["a"]["virtual_us"])


def test_what_is_no_recording_is_exit_code_2(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    flightdeck("run", small, "--record", tmp_path / "a.flight")
    ended = flightdeck("diff", tmp_path / "a.flight", tmp_path / "b.flight")
    assert (ended.code, ended.out) == (2, "")
    assert "b.flight does not exist, so it is no recording; did you mean" in ended.err
