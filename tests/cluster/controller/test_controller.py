"""The controller's rules: sessions, fencing, elections by the ISR, and what it lets leaders change."""

from cluster.controller.controller import Controller
from cluster.events import BrokerFenced, Event, IsrChanged, LeaderElected
from cluster.protocol.messages import PartitionMetadata

SESSION_US = 9_000_000


def cluster() -> tuple[Controller, list[Event]]:
    """Three registered brokers; t-0 on 1, 2, 3 and t-1 on 2 alone."""
    emitted: list[Event] = []
    controller = Controller((1, 2, 3), SESSION_US, emitted.append)
    for broker in (1, 2, 3):
        controller.register(broker, 0)
    controller.create("t-0", (1, 2, 3))
    controller.create("t-1", (2,))
    emitted.clear()
    return controller, emitted


def fence(controller: Controller, broker: int, at_us: int) -> list[str]:
    """Let everybody else be heard, and the session of one end."""
    for registration in controller.brokers.values():
        if registration.broker != broker:
            controller.heartbeat(registration.broker, registration.epoch, at_us, 0)
    return controller.expire(at_us)


def test_a_silent_broker_is_fenced_exactly_when_its_session_ends() -> None:
    controller, emitted = cluster()
    for broker in (1, 3):
        controller.heartbeat(broker, controller.brokers[broker].epoch, 1_000, 0)
    assert controller.next_deadline_us() == SESSION_US
    assert controller.expire(SESSION_US - 1) == []
    assert controller.expire(SESSION_US) == ["t-0", "t-1"]
    assert controller.live() == (1, 3)
    assert [event.broker for event in emitted if isinstance(event, BrokerFenced)] == [2]
    assert not controller.heartbeat(2, controller.brokers[2].epoch, SESSION_US, 0)


def test_the_first_in_sync_replica_in_assignment_order_leads_and_the_epoch_rises() -> None:
    controller, _ = cluster()
    fence(controller, 1, SESSION_US)
    metadata = controller.partitions["t-0"]
    assert (metadata.leader, metadata.leader_epoch, metadata.isr) == (2, 1, (2, 3))


def test_a_fenced_follower_leaves_the_isr_without_a_new_epoch() -> None:
    controller, emitted = cluster()
    fence(controller, 3, SESSION_US)
    metadata = controller.partitions["t-0"]
    assert (metadata.leader, metadata.leader_epoch, metadata.isr) == (1, 0, (1, 2))
    assert [event.partition for event in emitted if isinstance(event, IsrChanged)] == ["t-0"]


def test_the_last_in_sync_replica_stays_listed_and_leads_again_when_it_returns() -> None:
    controller, emitted = cluster()
    fence(controller, 2, SESSION_US)
    metadata = controller.partitions["t-1"]
    assert (metadata.leader, metadata.leader_epoch, metadata.isr) == (-1, 1, (2,))
    assert controller.register(2, SESSION_US + 1) == ["t-1"]
    metadata = controller.partitions["t-1"]
    assert (metadata.leader, metadata.leader_epoch) == (2, 2)
    last = emitted[-1]
    assert isinstance(last, LeaderElected)
    assert last.reason == "broker returned"


def test_a_broker_is_let_in_only_when_its_former_session_is_over() -> None:
    controller, _ = cluster()
    before = controller.brokers[2].epoch
    assert controller.register(2, 5) is None
    fence(controller, 2, SESSION_US)
    assert controller.register(2, SESSION_US) is not None
    assert controller.brokers[2].epoch > before
    assert not controller.heartbeat(2, before, SESSION_US, 0)


def test_a_controlled_shutdown_moves_leaderships_at_once() -> None:
    controller, emitted = cluster()
    assert controller.shut_down(1, 7) == ["t-0"]
    assert controller.partitions["t-0"].leader == 2
    assert controller.live() == (2, 3)
    assert not any(isinstance(event, BrokerFenced) for event in emitted)


def test_a_stopping_broker_may_end_when_every_other_live_broker_knows_the_new_leaders() -> None:
    controller, emitted = cluster()
    controller.shut_down(1, 7)
    for broker, version, may_stop in ((1, 9, False), (2, 7, False), (3, 6, False), (3, 7, True)):
        controller.heartbeat(broker, controller.brokers[broker].epoch, 1_000, version)
        assert controller.may_stop(1) is may_stop
    controller.complete_shutdown(1)
    assert [event.reason for event in emitted if isinstance(event, BrokerFenced)] == ["controlled shutdown"]


def test_a_stopping_broker_does_not_wait_for_one_that_is_fenced() -> None:
    controller, _ = cluster()
    fence(controller, 3, SESSION_US)
    controller.shut_down(1, 7)
    controller.heartbeat(2, controller.brokers[2].epoch, SESSION_US, 7)
    assert controller.may_stop(1)


def test_a_new_controller_gives_every_broker_a_whole_session() -> None:
    controller, _ = cluster()
    controller.take_over(8_000_000)
    assert controller.expire(SESSION_US) == []
    assert controller.next_deadline_us() == 8_000_000 + SESSION_US


def test_only_the_leader_of_this_epoch_changes_the_isr_and_never_by_a_fenced_broker() -> None:
    controller, _ = cluster()
    assert controller.alter_isr("t-0", 1, controller.partitions["t-0"], (1, 3), "shrink")
    known = controller.partitions["t-0"]
    assert known.isr == (1, 3)
    assert known.leader_epoch == 0
    another_epoch = PartitionMetadata(1, 1, known.replicas, known.isr)
    assert not controller.alter_isr("t-0", 2, known, (1, 2, 3), "not the leader")
    assert not controller.alter_isr("t-0", 1, another_epoch, (1, 2, 3), "another epoch")
    fence(controller, 2, SESSION_US)
    assert not controller.alter_isr("t-0", 1, known, (1, 2, 3), "expand")
    controller.register(2, SESSION_US)
    assert controller.alter_isr("t-0", 1, known, (3, 2, 1), "expand")
    assert list(controller.partitions["t-0"].isr) == [1, 2, 3]


def test_a_leader_that_has_not_heard_who_left_the_isr_does_not_put_him_back() -> None:
    controller, _ = cluster()
    known = controller.partitions["t-0"]
    fence(controller, 3, SESSION_US)
    controller.register(3, SESSION_US)  # back, and still to fetch what was committed without it
    assert not controller.alter_isr("t-0", 1, known, (1, 3), "shrink: broker-2 is slow")
    assert controller.partitions["t-0"].isr == (1, 2)


def test_a_late_request_is_refused_though_the_isr_is_again_what_its_leader_knew() -> None:
    """Seed 19659: asked twice to let broker-1 in, the second time while it was cut off; meanwhile it had left again."""
    controller, _ = cluster()
    assert controller.alter_isr("t-0", 1, controller.partitions["t-0"], (1, 2), "shrink")
    known = controller.partitions["t-0"]
    assert controller.alter_isr("t-0", 1, known, (1, 2, 3), "expand")
    assert controller.alter_isr("t-0", 1, controller.partitions["t-0"], (1, 2), "shrink")
    assert controller.partitions["t-0"].isr == known.isr
    assert not controller.alter_isr("t-0", 1, known, (1, 2, 3), "expand")
    assert controller.alter_isr("t-0", 1, controller.partitions["t-0"], (1, 2, 3), "expand")


def test_producer_ids_come_in_blocks() -> None:
    controller, _ = cluster()
    assert (controller.producer_ids(), controller.producer_ids()) == (0, 1_000)
