"""Plans: a scenario flown with every combination of some settings over the same seeds, and its rows compared."""
