"""A scenario and a seed become a running cluster that obeys commands."""

from cluster.simulation.simulation import Simulation

__all__ = ["Simulation"]
