"""Forks of the shown flight: how they are typed, how they are flown in the background."""
