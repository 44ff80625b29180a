"""Commands that draw pictures of flights."""
