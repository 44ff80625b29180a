"""What screens show of the newest events before the shown instant, and no view keeps."""

from cluster.events import Event
from console.presenters.conversations.messages import ConversationLog
from console.presenters.partitions.newest_logs import NewestLogs


class NewestEvents:
    """Requests and answers, and batches; each forgets its oldest."""

    def __init__(self) -> None:
        self.conversation, self.logs = ConversationLog(), NewestLogs()

    def observe(self, event: Event) -> None:
        """Take one event."""
        self.conversation.observe(event)
        self.logs.observe(event)
