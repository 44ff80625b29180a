"""CEL, the Common Expression Language, over plain data: parsed, type-checked, evaluated within a budget.

https://github.com/google/cel-spec, without the types that the view document has no values of: unsigned numbers, bytes,
timestamps, durations, messages and optional values. The Python library for CEL has no budget and cannot be interrupted,
and an untrusted scenario must not exhaust the machine.
"""
