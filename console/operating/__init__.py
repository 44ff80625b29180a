"""What the operator gives and is told: command lines and notices."""
