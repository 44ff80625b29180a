"""How a runner answers: it returns (passed), raises AssertionError (failed), or raises `Skip` (not judged, and why).

Every runner is a module `tests/oracles/run_<noun>.py` with one function:

    def run(vector: dict[str, Any], document: dict[str, Any]) -> None

`vector` is one element of the file's `vectors`; `document` is the whole file (its `rule`, `conventions`,
`default_config`). A module is entered for its schema in `tests/oracles/schemas.py`.
"""

from __future__ import annotations


class Skip(Exception):  # noqa: N818 - it is an answer, not an error
    """The vector cannot be judged here; the reason is shown in the summary. A skip is never a pass."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
