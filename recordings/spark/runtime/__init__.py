"""What runs Spark: its Java, sessions, a standalone cluster on this machine, tasks, and Ctrl-C during them."""
