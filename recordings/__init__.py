"""Flights as data: scenario files, journals, playback, reruns and reports."""
