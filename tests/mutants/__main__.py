"""The full table: `python -m tests.mutants` searches three times for each mutant; a quarter of an hour of one core."""

from tests.mutants import MUTANTS, SURVIVORS
from tests.mutants.searching import row

if __name__ == "__main__":
    for name in MUTANTS:
        print(row(name), SURVIVORS.get(name, ""), flush=True)  # noqa: T201 - it is what it is for
