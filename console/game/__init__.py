"""A game on the screens: a live flight that hides its fault, and the debrief on its recording."""
