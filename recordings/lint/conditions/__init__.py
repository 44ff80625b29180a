"""The conditions of the rules that are no plain comparison: pure functions over a part and the parts beside it."""
