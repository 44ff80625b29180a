"""Random scenarios: drawn from seeds, flown, judged, and shrunk."""
