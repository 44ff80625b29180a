"""A broker's metadata cache: news of two controllers in any order."""

from cluster.broker.metadata_cache import MetadataCache
from cluster.protocol.messages import PartitionMetadata

OLD, NEW, NEWEST = (PartitionMetadata(leader, leader, (1, 2, 3), (1, 2, 3)) for leader in (1, 2, 3))


def test_a_late_delta_of_the_last_controller_changes_nothing() -> None:
    cache = MetadataCache()
    cache.open((1, 2, 3), {"orders-0": OLD})

    assert cache.apply(5, (2, 3), {"orders-0": NEW}) == ({"orders-0": NEW}, False)
    assert cache.apply(4, (1, 2, 3), {"orders-0": OLD}) == ({}, False)
    assert (cache.live, cache.image) == ((2, 3), {"orders-0": NEW})


def test_a_broker_that_is_live_again_is_said_once() -> None:
    cache = MetadataCache()
    cache.open((1, 2, 3), {})

    assert [cache.apply(version, live, {})[1] for version, live in ((1, (2, 3)), (2, (1, 2, 3)), (3, (1, 2, 3)))] == [
        False,
        True,
        False,
    ]


def test_all_metadata_of_a_registration_replaces_only_what_is_older() -> None:
    cache = MetadataCache()
    cache.open((1, 2, 3), {"orders-0": OLD, "orders-1": OLD, "gone-0": OLD})
    cache.apply(9, (1, 2), {"orders-1": NEWEST})

    cache.replace(7, (1, 2, 3), {"orders-0": NEW, "orders-1": NEW})

    assert cache.image == {"orders-0": NEW, "orders-1": NEWEST}
    assert cache.apply(8, (1, 2, 3), {"orders-0": OLD, "orders-1": OLD})[0] == {"orders-0": OLD}
