"""Game day: a cluster with a hidden fault drawn from a seed, what can be accused, and the score of a played game."""
