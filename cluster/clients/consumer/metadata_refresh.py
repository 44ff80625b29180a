"""A consumer's metadata refreshes, in a thread beside the poll loop.

poll() waits for the first refresh only, and not with a regular expression, whose topics come with the target. It does
not wait for leaders: it reads partitions that have one, and rejoins if needed.
Source: `ConsumerCoordinator.poll` never waits for leaders; `Metadata.timeToNextUpdate` spaces the requests.
"""

from cluster.clients.consumer.consumer_host import ConsumerHost
from cluster.clients.consumer.group_membership import GroupMembership


class MetadataRefresh:
    """Refreshes metadata whenever it is stale."""

    def __init__(self, consumer: ConsumerHost, membership: GroupMembership) -> None:
        self._consumer, self._membership = consumer, membership

    async def run(self) -> None:
        """Run the thread until the process ends."""
        consumer = self._consumer
        while True:
            if consumer.metadata_refresh_due and (consumer.topic_partitions or consumer.topic_regex):
                await self.refresh()
            else:
                await consumer.wait_for_stale_metadata()

    async def refresh(self) -> None:
        """Refresh once, and apply the result to the fetcher and to the group."""
        consumer = self._consumer
        consumer.metadata_stale = False
        await consumer.refresh_metadata(consumer.watched_topics)
        consumer.fetcher.route()
        self._membership.metadata_changed()
        consumer.metadata_refreshed()
        consumer.request_attention()  # poll() fetches partitions that have a leader now
        if not all(consumer.topic_partitions.get(topic) for topic in consumer.topics):
            await consumer.sleep(consumer.retry_backoff_us)
            consumer.mark_metadata_stale()
        elif any(consumer.leader_of(name) < 0 for name in consumer.owned):
            consumer.retry_refresh_later()
        elif self._membership.settled:
            await consumer.sleep(consumer.retry_backoff_us)
