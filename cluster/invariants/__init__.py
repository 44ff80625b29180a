"""Named sentences that must hold at every event of every flight, judged from events and the view alone."""

from cluster.invariants.judging import Invariants
from cluster.invariants.sentences import SENTENCES, InvariantViolated, Violation

__all__ = ["SENTENCES", "InvariantViolated", "Invariants", "Violation"]
