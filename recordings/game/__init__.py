"""Game day: a cluster with a hidden fault drawn from a seed, faults to diagnose, and the score of a played game."""
