"""A consumer's refreshes of its metadata, beside everything else that it does.

poll() waits for the first ones only, which it cannot do without. It does not wait for a leader: it reads what has one,
and rejoins if it must.
Source: `ConsumerCoordinator.poll` never waits for leaders; `Metadata.timeToNextUpdate` spaces the requests.
"""

from cluster.clients.consumer.member import Member
from cluster.clients.consumer.rejoin import Joining


class MetadataRefresh:
    """Asks who leads what whenever that is stale."""

    def __init__(self, consumer: Member, joining: Joining) -> None:
        self._consumer, self._joining = consumer, joining

    async def run(self) -> None:
        """Refresh again and again, until the process dies."""
        consumer = self._consumer
        while True:
            if consumer.wants_metadata and consumer.topic_partitions:
                await self.refresh()
            else:
                await consumer.stale_metadata()

    async def refresh(self) -> None:
        """Ask once, and find out what it means for what is fetched and for the group."""
        consumer, joining = self._consumer, self._joining
        consumer.stale = False
        await consumer.refresh_metadata(consumer.watched_topics)
        consumer.fetcher.route()
        joining.look_around()
        consumer.refreshed()
        consumer.want_attention()  # of poll(): what has a leader now, or may be tried again, is fetched
        if not all(consumer.topic_partitions.get(topic) for topic in consumer.topics):
            await consumer.sleep(consumer.retry_backoff_us)
            consumer.metadata_is_stale()
        elif any(consumer.leader_of(name) < 0 for name in consumer.owned):
            consumer.refresh_again()
        elif consumer.state == "Stable" and not joining.needed:
            await consumer.sleep(consumer.retry_backoff_us)
