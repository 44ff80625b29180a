"""The consumer: polling, group membership, fetching, offset commits, and its application."""
