"""What every bench prints first: how fast this machine is now, so that the figures of two days can be compared."""

import os
import sys
import time

import pytest

from console.bench.measurement import CALIBRATION_STEPS, calibrate


@pytest.fixture(scope="session", autouse=True)
def _calibration() -> None:
    """Print the calibration of `flightdeck bench`, in steps per processor second, where `-s` shows it."""
    began = time.thread_time()
    calibrate()
    steps = CALIBRATION_STEPS / (time.thread_time() - began)
    sys.stderr.write(f"\ncalibration: {steps:,.0f} steps per processor second at load {os.getloadavg()[0]:.1f}")
