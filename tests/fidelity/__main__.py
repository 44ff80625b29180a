"""`python -m tests.fidelity [WORD …]`: what differs from the real thing and is not listed in differences.toml.

A WORD chooses traces by a part of their name (`4.3.1`, `twins`). `--all` shows the permitted differences too,
`--recount` writes the counts of differences.toml anew, and leaves out entries that no longer occur.
"""

import argparse
import sys

from tests.fidelity.comparisons import comparison, judged, traces
from tests.fidelity.differences import complaints, read_entries, recounted, sorted_out, write_entries


def say(line: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{line}\n")


def main() -> int:
    """Compare, print, and exit with 1 if something is not listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description="Real traces beside Flightdeck.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="a part of a trace's name")
    parser.add_argument("--all", action="store_true", help="permitted differences too")
    parser.add_argument("--recount", action="store_true", help="write the counts of differences.toml anew")
    options = parser.parse_args()
    entries = read_entries()
    if options.recount:
        entries = recounted(entries, {name: judged(name) for name in traces()})
        write_entries(entries)
    wrong = False
    for name in traces():
        if options.words and not any(word in name for word in options.words):
            continue
        found = comparison(name)
        say(f"{name}: {sum(found.agreeing.values())} facts agree, {len(found.differences)} differ")
        if options.all:
            for entry, difference in sorted_out(name, judged(name), entries)[0]:
                say(f"  {entry.id}: {difference}")
        for complaint in complaints(name, judged(name), entries):
            say(f"  {complaint}")
            wrong = True
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
