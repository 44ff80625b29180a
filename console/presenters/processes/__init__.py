"""The places of a member and of a producer."""
