"""A consumer's refreshes of its metadata, beside everything else that it does.

poll() waits for the first ones only, which it cannot do without. It does not wait for a leader: it reads what has one,
and rejoins if it must.
Source: `ConsumerCoordinator.poll` never waits for leaders; `Metadata.timeToNextUpdate` spaces the requests.
"""

from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.rejoin import Rejoin


class MetadataRefresh:
    """Asks who leads what whenever that is stale."""

    def __init__(self, consumer: ConsumerHost, joining: Rejoin) -> None:
        self._consumer, self._joining = consumer, joining

    async def run(self) -> None:
        """Refresh again and again, until the process dies."""
        consumer = self._consumer
        while True:
            if consumer.metadata_refresh_due and consumer.topic_partitions:
                await self.refresh()
            else:
                await consumer.wait_for_stale_metadata()

    async def refresh(self) -> None:
        """Ask once, and find out what it means for what is fetched and for the group."""
        consumer, joining = self._consumer, self._joining
        consumer.metadata_stale = False
        await consumer.refresh_metadata(consumer.watched_topics)
        consumer.fetcher.route()
        joining.check_metadata_changed()
        consumer.refreshed()
        consumer.request_attention()  # of poll(): what has a leader now, or may be tried again, is fetched
        if not all(consumer.topic_partitions.get(topic) for topic in consumer.topics):
            await consumer.sleep(consumer.retry_backoff_us)
            consumer.mark_metadata_stale()
        elif any(consumer.leader_of(name) < 0 for name in consumer.owned):
            consumer.retry_refresh_later()
        elif consumer.state == "Stable" and not joining.needed:
            await consumer.sleep(consumer.retry_backoff_us)
