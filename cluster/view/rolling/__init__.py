"""Rollouts and rolling restarts: their state, and the fold of their events and of pods."""
