"""Two sets of flights compared seed by seed: what one costs more than the other, and how sure that is."""
