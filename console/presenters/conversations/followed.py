"""The messages of some processes, kept from frame to frame: a frame adds what is new and drops what is too old."""

from collections.abc import Mapping, Sequence

from console.presenters.conversations.messages import ConversationLog, Message


class FollowedConversation:
    """What `ConversationLog.messages` has for the names, without a look at thousands of messages in every frame."""

    def __init__(self) -> None:
        self._log: ConversationLog | None = None
        self._names: tuple[str, ...] = ()
        self._seen = (0, 0)
        self._messages: dict[str, Message] = {}

    def messages(self, log: ConversationLog, names: Sequence[str]) -> Mapping[str, Message]:
        """By the number of the event, oldest first. Valid until the next call."""
        if self._log is not log or self._names != tuple(names):
            self._log, self._names, self._seen, self._messages = log, tuple(names), (0, 0), {}
        if self._seen != log.noted:
            chosen = frozenset(names)
            for message in log.messages(chosen, self._seen):
                self._messages[str(message.event.seq)] = message
            self._seen = log.noted
            self._drop_before(log.begin(chosen))
        return self._messages

    @property
    def newest(self) -> str:
        """The number of the last message's event; empty without one."""
        return next(reversed(self._messages), "")

    def _drop_before(self, begin: int) -> None:
        old = []
        for key, message in self._messages.items():
            if message.event.seq >= begin:
                break
            old.append(key)
        for key in old:
            del self._messages[key]
