"""What a recording of logs shows: the words of its lines, and `unknown` for what none of them tells."""
