"""A flight as a Chrome trace: tracks, slices and counters for Perfetto and other viewers of traces."""
