"""Scenario files: read, checked, written, and what they expect."""
