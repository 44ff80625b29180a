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


def test_events_that_differ_by_their_instants_only_are_printed_with_these(
    flightdeck: Flightdeck, small: str, tmp_path: Path
) -> None:
    a, b = tmp_path / "a.flight", tmp_path / "b.flight"
    flightdeck("run", small, "--record", a)
    flightdeck("run", small, "--set", "linger.ms=1", "--record", b)
    lines = flightdeck("diff", a, b).out.splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("The first event that differs"))
    instants = [line.partition(": ")[2].split(" s  ")[0] for line in lines[at + 1 : at + 3]]
    assert all(len(instant.partition(".")[2]) == 6 for instant in instants), lines[at : at + 3]
    assert instants[0] != instants[1]


def test_what_is_no_recording_is_exit_code_2(flightdeck: Flightdeck, small: str, tmp_path: Path) -> None:
    flightdeck("run", small, "--record", tmp_path / "a.flight")
    ended = flightdeck("diff", tmp_path / "a.flight", tmp_path / "b.flight")
    assert (ended.code, ended.out) == (2, "")
    assert "b.flight does not exist, so it is not a recording; did you mean" in ended.err


def test_several_recordings_are_ranked_up_to_the_end_of_the_shortest(
    flightdeck: Flightdeck, small: str, tmp_path: Path
) -> None:
    a, b = tmp_path / "a.flight", tmp_path / "b.flight"
    flightdeck("run", small, "--record", a, "--until", "9s")
    with Path(small).open("a") as file:
        file.write('[[at]]\ntime = "7s"\ndo = "kill billing-1"\n')
    flightdeck("run", small, "--record", b)
    ended = flightdeck("summary", b, a)
    assert ended.code == 0
    first, _, rest = ended.out.partition("\n")
    assert first.startswith("a costs least of 2 flights: 0 unread partition-seconds; b costs most: ")
    assert rest.splitlines()[0].split() == ["1.", "a", "2.", "b"]
    assert rest.splitlines()[-1] == "compared up to 8 s, where the shortest flight ends"
    report = json.loads(flightdeck("summary", b, a, "--json").out)
    assert [way["name"] for way in report["ranking"]["ways"]] == ["a", "b"]
    twice = flightdeck("summary", a, a)
    assert twice.out.splitlines()[0] == "The 2 flights cost the same."


def test_a_fork_says_what_it_costs_beside_the_recorded_flight(
    flightdeck: Flightdeck, small: str, tmp_path: Path
) -> None:
    path, other = tmp_path / "a.flight", tmp_path / "fork.flight"
    flightdeck("run", small, "--record", path, "--until", "60s")
    ended = flightdeck("fork", path, "--at", "20s", "--do", "kill billing-1", "--set", "billing:static=true")
    assert ended.code == 0
    first, _, rest = ended.out.partition("\n")
    assert first.startswith("The recorded flight costs 0 unread partition-seconds")
    assert "; the fork costs " in first
    assert "  only fork: kill billing-1 at 00:00:20.0, set billing static true at 00:00:20.0" in rest
    assert "billing static=true counts at the next start of billing-1, billing-2" in rest
    assert "1 of 1 expectations of the scenario held" in rest
    report = json.loads(flightdeck("fork", path, "--at", "20s", "--record", other, "--json").out)
    assert (report["diff"]["equal"], report["forked_at_s"]) == (True, 20.0)
    assert flightdeck("diff", path, other).code == 0
    refused = flightdeck("fork", path, "--at", "20s", "--do", "kil billing-1")
    assert (refused.code, refused.out) == (2, "")
    assert "did you mean kill?" in refused.err
