"""Sweeps: a scenario's settings and seeds flown as Spark tasks, kept one by one, and judged as a frontier."""
