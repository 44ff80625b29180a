"""How often the garbage collector looks while the console shows a live flight.

A flight leaves no circles, and asks for hardly any collection (`cluster/simulation`). Each frame of Textual's leaves
some: thousands of objects, which the flight's own thresholds would let grow to a hundred MB. So the young are looked at
at about once a second; the cluster, which lives as long as the flight, never. The thresholds from before the flight
come back with its end.
"""

import gc

YOUNG, MIDDLE, OLD = 20_000, 10, 5  # allocations; collections of the generation before


def collect_frames() -> None:
    """The cluster is built: from now on what comes and goes is the console's."""
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
