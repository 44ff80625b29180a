"""Moving to the past of a live flight while it goes on."""
