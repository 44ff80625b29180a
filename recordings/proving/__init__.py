"""The prover: a process is killed at every event of a window, each time in a flight of its own."""
