"""Lag alert rules, evaluated over recordings and scored against the faults that their events name."""
