"""ClusterView, `fold(view, event)` and `document(view, now_us)`: the read model."""

from cluster.view.document import document
from cluster.view.fold import fold
from cluster.view.state import ClusterView

__all__ = ["ClusterView", "document", "fold"]
