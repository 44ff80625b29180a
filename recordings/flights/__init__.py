"""Headless flights: run, rerun, and interrupted."""
