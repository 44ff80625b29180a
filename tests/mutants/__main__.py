"""`python -m tests.mutants`: how many seeds `check` takes to catch each mutant, by the median of three searches.

python -m tests.mutants                                     # the full table, a quarter of an hour of one core
python -m tests.mutants --mutant forgets_the_last_stable_offset
"""

import argparse
import sys
from collections.abc import Sequence

from tests.mutants import MUTANTS, SURVIVORS
from tests.mutants.searching import row


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each mutant; the exit code."""
    about = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=about)
    parser.add_argument("--mutant", choices=sorted(MUTANTS), metavar="NAME", help="only this one")
    options = parser.parse_args(arguments)
    for name in [options.mutant] if options.mutant else MUTANTS:
        sys.stdout.write(f"{row(name)} {SURVIVORS.get(name, '')}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
