"""What the frame says of a flight that is stepped through."""
