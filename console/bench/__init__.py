"""Measuring: how fast this machine flies, beside a calibration that does not depend on Flightdeck."""
