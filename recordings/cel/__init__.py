"""CEL, the Common Expression Language, over plain data: read, checked by its types, evaluated within a budget.

https://github.com/google/cel-spec, without what the view document has no values for: unsigned numbers, bytes,
timestamps, durations, messages and optional values. The library for Python has no budget and cannot be interrupted,
and a stranger's scenario must not take the machine.
"""
