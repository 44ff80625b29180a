"""The recording of one flight: written, read, sought in and compared."""
