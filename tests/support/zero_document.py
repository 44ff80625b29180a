"""A view document of zeros, to ask expressions of."""

from typing import Any

from recordings.scenarios.document_schema import SHAPE, ByName, Possible


def zeros(possible: Possible, roots: frozenset[str]) -> dict[str, Any]:
    """The named roots of a view document in which everything that is declared is there, and is zero or empty."""
    return {root: _zero(SHAPE[root], possible) for root in SHAPE if root in roots}


def _zero(node: Any, possible: Possible) -> Any:  # noqa: ANN401 - nested plain data
    if isinstance(node, ByName):
        return {name: _zero(node.node, possible) for name in possible.known[node.kind]}
    if isinstance(node, dict):
        return {key: _zero(child, possible) for key, child in node.items()}
    return node
