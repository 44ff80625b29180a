"""Two flights beside each other: the verdict, both rasters on one axis, the bill as it adds up."""
