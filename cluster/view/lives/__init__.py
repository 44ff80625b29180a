"""The lives of processes: what members, producers and transactional ids did last, and what became of it."""
